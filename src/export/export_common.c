/* SPDX-License-Identifier: MIT */
#include "export/export_common.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/terminal.h"
#include "base/text.h"
#include "view/frame_text.h"

char *seep_export_frame_text(struct seep_export_names *names, uint32_t frame)
{
	const struct seep_profile_context like = { .other = frame > names->profile->frame_count };
	const struct seep_profile_frame *of = &names->profile->frames[frame];
	char *place = NULL, *escaped = NULL, *text;
	const char *path;

	if (frame >= names->profile->frame_count)
		return seep_xstrdup(seep_export_no_stack(&like));
	path = seep_profile_frame_path(names->profile, of);
	if (of->file != NULL)
		place = seep_frame_place(names->profile, of, true);
	else if (path != NULL)
		place = seep_xasprintf("in %s", path);
	if (place != NULL)
		escaped = seep_escape_dup(place);
	text = seep_xasprintf("0x%" PRIX64 ": %s%s%s%s", of->address,
			      seep_export_name(names, frame), escaped != NULL ? " (" : "",
			      escaped != NULL ? escaped : "", escaped != NULL ? ")" : "");
	free(escaped);
	free(place);
	return text;
}

char *seep_export_command(const struct seep_profile *profile)
{
	const struct seep_profile_process *process = &profile->process;
	struct seep_strbuf command;
	char *escaped;

	seep_strbuf_init(&command, SEEP_LINE_BYTES_MAX);
	for (char **word = process->argv; word != NULL && *word != NULL; word++) {
		if (word != process->argv)
			seep_strbuf_addc(&command, ' ');
		seep_text_shell_word(&command, *word);
	}
	if (command.length == 0)
		seep_strbuf_adds(&command, process->exe != NULL ? process->exe : "(unknown)");
	escaped = seep_escape_dup(command.text);
	seep_strbuf_done(&command);
	return escaped;
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
