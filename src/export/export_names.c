/* SPDX-License-Identifier: MIT */
#include "export/export_names.h"

#include <inttypes.h>
#include <stdlib.h>

#include "analysis/function_name.h"
#include "base/path.h"
#include "base/terminal.h"
#include "base/text.h"
#include "profile/kind_name.h"
#include "view/frame_text.h"
#include "view/tree_view.h"

void seep_export_names_init(struct seep_export_names *names, const struct seep_profile *profile)
{
	names->profile = profile;
	names->of_frame = seep_xcalloc(profile->frame_count, sizeof(*names->of_frame));
}

void seep_export_names_done(struct seep_export_names *names)
{
	for (uint32_t i = 0; i < names->profile->frame_count; i++)
		free(names->of_frame[i]);
	free(names->of_frame);
}

char *seep_export_raw_name(const struct seep_profile *profile,
			   const struct seep_profile_frame *frame)
{
	const char *path = seep_profile_frame_path(profile, frame);

	/* What has no name has none after an import either: no words of a report. */
	if (frame->function == NULL)
		return seep_xasprintf("%s%s0x%" PRIx64, path ? seep_path_base(path) : "",
				      path ? " + " : "", frame->address);
	if (frame->file == NULL && seep_function_is_invoker(frame->function))
		return seep_frame_name(profile, frame, SEEP_NAME_SHORT);
	return seep_xstrdup(*frame->function ? frame->function : "(unnamed)");
}

const char *seep_export_name(struct seep_export_names *names, uint32_t frame)
{
	char **name = &names->of_frame[frame];

	if (*name == NULL) {
		SEEP_FREED char *raw = seep_export_raw_name(names->profile,
							    &names->profile->frames[frame]);

		*name = seep_escape_dup(raw);
	}
	return *name;
}

const char *seep_export_no_stack(bool other)
{
	return seep_tree_special_words(other ? SEEP_TREE_OTHER : SEEP_TREE_NO_STACK);
}

uint32_t seep_export_address(const struct seep_profile *profile,
			     const struct seep_profile_stack_entry *stack, uint32_t count)
{
	uint32_t entries = 1;

	while (entries < count && profile->frames[stack[entries - 1].frame].inlined)
		entries++;
	return entries;
}

void seep_export_put(FILE *out, const char *text, char twice)
{
	for (; *text; text++) {
		if (*text == twice)
			(void)putc_unlocked(*text, out);
		(void)putc_unlocked(*text == ';' ? ':' : *text, out);
	}
}

uint64_t seep_export_pc(const struct seep_profile *profile, const struct seep_profile_frame *frame)
{
	const uint64_t bias = frame->module > 0 && frame->module <= profile->module_count
				      ? profile->modules[frame->module - 1].bias
				      : 0;

	return frame->address + bias - (frame->exact ? 0 : 1);
}

char *seep_export_frame_text(const struct seep_profile *profile, uint32_t frame)
{
	const struct seep_profile_frame *of = &profile->frames[frame];
	SEEP_FREED char *name = NULL, *place = NULL;
	const char *path;

	if (frame >= profile->frame_count)
		return seep_xstrdup(seep_export_no_stack(frame > profile->frame_count));
	name = seep_export_raw_name(profile, of);
	path = seep_profile_frame_path(profile, of);
	if (of->file != NULL && *of->file != '\0')
		place = seep_frame_place(profile, of, true);
	else
		place = path != NULL ? seep_xasprintf("in %s", path) : NULL;
	return seep_xasprintf(place != NULL ? "0x%" PRIX64 ": %s (%s)" : "0x%" PRIX64 ": %s",
			      of->address, name, place);
}

char *seep_export_command(const struct seep_profile *profile)
{
	const struct seep_profile_process *process = &profile->process;
	SEEP_STRBUF(command, SEEP_LINE_BYTES_MAX);

	seep_text_shell_words(&command, process->argv);
	if (command.length == 0)
		seep_strbuf_adds(&command, process->exe != NULL ? process->exe : "(unknown)");
	return seep_strbuf_take(&command);
}

char *seep_export_estimates(const struct seep_profile *profile)
{
	const uint32_t tiers = profile->process.tiers;
	bool any = false;

	for (uint32_t i = 0; i < profile->context_count; i++)
		any |= profile->contexts[i].errors != NULL;
	if (!any)
		return NULL;
	return seep_xasprintf("figures are estimates %s%s", tiers ? "of tier " : "from samples",
			      tiers ? seep_profile_tier_name(tiers) : "");
}

uint64_t seep_export_elapsed_ns(const struct seep_profile *profile, uint64_t at_ns)
{
	return at_ns > profile->process.start_ns ? at_ns - profile->process.start_ns : 0;
}

uint64_t seep_export_duration_ns(const struct seep_profile *profile)
{
	uint64_t end_ns = profile->process.end_ns;

	if (end_ns == 0) {
		end_ns = profile->totals.peak_at_ns;
		for (uint32_t i = 0; i < profile->sample_count; i++)
			if (profile->timeline[i].at_ns > end_ns)
				end_ns = profile->timeline[i].at_ns;
	}
	return seep_export_elapsed_ns(profile, end_ns);
}

uint64_t seep_export_peak_ns(const struct seep_profile *profile)
{
	const uint64_t end_ns = seep_export_duration_ns(profile);
	const uint64_t at_ns = seep_export_elapsed_ns(profile, profile->totals.peak_at_ns);

	return profile->totals.peak_at_ns == 0 || at_ns > end_ns ? end_ns : at_ns;
}
