/* SPDX-License-Identifier: MIT */
/*
 * Addresses as they were in the process, for other tools and for checking ours:
 * "<vaddr>: <binary> + <offset> : <name>". One line per physical frame, with the name of the
 * function whose code it is; inlined names are in the other views.
 */
#include "report/report.h"

#include <inttypes.h>
#include <stdlib.h>

#include "analysis/rank.h"
#include "base/terminal.h"
#include "base/xalloc.h"
#include "profile/context_hash.h"
#include "profile/kind_name.h"

/* The line of one frame, made once: stacks share frames. Released with free(). */
static char *frame_line(const struct seep_profile *profile, const struct seep_profile_frame *frame)
{
	const char *path = seep_profile_frame_path(profile, frame);
	const char *function = frame->function ? frame->function : "??";
	uint64_t bias = 0;
	SEEP_FREED char *line = NULL;

	if (frame->module > 0 && frame->module <= profile->module_count)
		bias = profile->modules[frame->module - 1].bias;
	line = seep_xasprintf("0x%" PRIx64 ": %s + 0x%" PRIx64 " : %s", frame->address + bias,
			      path ? path : "??", frame->address, function);
	return seep_escape_dup(line);
}

static void print_context(FILE *out, const struct seep_profile *profile,
			  const struct seep_profile_context *context, char **lines)
{
	fprintf(out,
		"context %" PRIu32 ": hash %016" PRIx64 ", break %016" PRIx64 ", %s, live %" PRIu64
		" bytes in %" PRIu64 " blocks, peak %" PRIu64 " bytes in %" PRIu64
		" blocks, allocated %" PRIu64 " bytes in %" PRIu64 " calls, freed %" PRIu64
		" bytes in %" PRIu64 " calls, temporary %" PRIu64 "\n",
		context->id, context->hash, seep_profile_stack_hash(profile, context),
		seep_profile_kind_name(context->kind), context->live_bytes, context->live_blocks,
		context->peak_bytes, context->peak_blocks, context->alloc_bytes, context->allocs,
		context->freed_bytes, context->frees, context->temporary);
	for (uint32_t i = 0; i < context->stack_count; i++) {
		const uint32_t index = context->stack[i].frame;

		if (profile->frames[index].inlined)
			continue;
		if (lines[index] == NULL)
			lines[index] = frame_line(profile, &profile->frames[index]);
		(void)fputs(lines[index], out);
		(void)fputc('\n', out);
	}
	fputc('\n', out);
}

void seep_report_raw(FILE *out, const struct seep_profile *profile,
		     const struct seep_view_options *options)
{
	const enum seep_measure measure = seep_view_measure(profile, options->by);
	const uint32_t count = profile->context_count;
	SEEP_FREED uint32_t *order = seep_xcalloc(count, sizeof(*order));
	const uint32_t shown = seep_rank_contexts(profile, measure,
						  options->top > 0 ? options->top : count, order);
	SEEP_FREED char **lines = seep_xcalloc(profile->frame_count, sizeof(*lines));

	for (uint32_t i = 0; i < shown; i++)
		print_context(out, profile, &profile->contexts[order[i]], lines);
	for (uint32_t i = 0; i < profile->frame_count; i++)
		free(lines[i]);
}
