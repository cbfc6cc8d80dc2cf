/* SPDX-License-Identifier: MIT */
#include "export/export_common.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/text.h"
#include "view/frame_text.h"

char *seep_export_frame_text(const struct seep_profile *profile, uint32_t frame)
{
	const struct seep_profile_context like = { .other = frame > profile->frame_count };
	const struct seep_profile_frame *of = &profile->frames[frame];
	char *name, *place, *text;
	const char *path;

	if (frame >= profile->frame_count)
		return seep_xstrdup(seep_export_no_stack(&like));
	name = seep_export_raw_name(profile, of);
	path = seep_profile_frame_path(profile, of);
	if (of->file != NULL && *of->file != '\0')
		place = seep_frame_place(profile, of, true);
	else
		place = path != NULL ? seep_xasprintf("in %s", path) : NULL;
	text = seep_xasprintf(place != NULL ? "0x%" PRIX64 ": %s (%s)" : "0x%" PRIX64 ": %s",
			      of->address, name, place);
	free(place);
	free(name);
	return text;
}

char *seep_export_command(const struct seep_profile *profile)
{
	const struct seep_profile_process *process = &profile->process;
	struct seep_strbuf command;

	seep_strbuf_init(&command, SEEP_LINE_BYTES_MAX);
	for (char **word = process->argv; word != NULL && *word != NULL; word++) {
		if (word != process->argv)
			seep_strbuf_addc(&command, ' ');
		seep_text_shell_word(&command, *word);
	}
	if (command.length == 0)
		seep_strbuf_adds(&command, process->exe != NULL ? process->exe : "(unknown)");
	return seep_strbuf_take(&command);
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
