/* SPDX-License-Identifier: MIT */
/*
 * jemalloc's heap profile (heap_v2), which jeprof reads: addresses and where modules were mapped;
 * jeprof looks for the names in the same files. A rate of 0 tells it that nothing was sampled; by
 * any other it would scale.
 */
#include "export/export.h"

#include <inttypes.h>

#include "analysis/counts.h"
#include "base/terminal.h"
#include "export/export_names.h"

static void write_counts(FILE *out, const struct seep_counts *counts)
{
	(void)fprintf(out, "  t*: %" PRId64 ": %" PRId64 " [%" PRId64 ": %" PRId64 "]\n",
		      counts->live_blocks, counts->live_bytes, counts->allocs, counts->alloc_bytes);
}

static void write_context(FILE *out, const struct seep_profile *profile,
			  const struct seep_profile_context *context)
{
	const struct seep_counts counts = seep_counts_of(context);
	uint32_t entries;

	(void)fputc('@', out);
	for (uint32_t i = 0; i < context->stack_count; i += entries) {
		const struct seep_profile_stack_entry *entry = &context->stack[i];
		const struct seep_profile_frame *frame;

		entries = seep_export_address(profile, entry, context->stack_count - i);
		frame = &profile->frames[entry[entries - 1].frame];
		/* jeprof takes the innermost as it is, and for the others the byte before. */
		(void)fprintf(out, " 0x%" PRIx64, seep_export_pc(profile, frame) + (i > 0));
	}
	/* jeprof would count what has no address at all for the context before. */
	if (context->stack_count == 0)
		(void)fputs(" 0x0", out);
	(void)fputc('\n', out);
	write_counts(out, &counts);
}

/* A line of /proc/PID/maps; a module's first page is that of its file. */
static void write_module(FILE *out, const struct seep_profile_module *module)
{
	SEEP_FREED char *path = seep_escape_dup(module->path ? module->path : "");

	(void)fprintf(out, "%08" PRIx64 "-%08" PRIx64 " r-xp 00000000 00:00 0 %s\n", module->start,
		      module->end, path);
}

void seep_export_jemalloc(FILE *out, const struct seep_profile *profile,
			  const struct seep_view_options *options)
{
	struct seep_counts total = { 0 };

	(void)options;
	for (uint32_t i = 0; i < profile->context_count; i++)
		seep_counts_add_context(&total, &profile->contexts[i]);
	(void)fputs("heap_v2/0\n", out);
	write_counts(out, &total);
	for (uint32_t i = 0; i < profile->context_count; i++)
		write_context(out, profile, &profile->contexts[i]);
	(void)fputs("\nMAPPED_LIBRARIES:\n", out);
	for (uint32_t i = 0; i < profile->module_count; i++)
		write_module(out, &profile->modules[i]);
}
