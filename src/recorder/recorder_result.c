/* SPDX-License-Identifier: MIT */
#include "recorder/recorder_result.h"

#include "base/path.h"
#include "base/xalloc.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

void seep_recorder_add_problem(struct seep_recorder_result *result, const struct seep_error *err)
{
	result->problems = seep_xgrow(result->problems, &result->problem_capacity,
				      result->problem_count + 1, sizeof(*result->problems));
	result->problems[result->problem_count++] = seep_xstrdup(err->text);
}

void seep_recorder_add_note(struct seep_recorder_result *result, const char *fmt, ...)
{
	struct seep_error text = { 0 };
	va_list args;

	va_start(args, fmt);
	(void)vsnprintf(text.text, sizeof(text.text), fmt, args);
	va_end(args);
	result->notes = seep_xgrow(result->notes, &result->note_capacity, result->note_count + 1,
				   sizeof(*result->notes));
	result->notes[result->note_count++] = seep_xstrdup(text.text);
}

void seep_recorder_add_left(struct seep_recorder_result *result, char *path, const char *exe,
			    uint32_t pid)
{
	result->left = seep_xgrow(result->left, &result->left_capacity, result->left_count + 1,
				  sizeof(*result->left));
	result->left[result->left_count++] = (struct seep_recorder_left){
		.path = path,
		.exe = seep_xstrdup(exe),
		.pid = pid,
	};
}

void seep_recorder_add_other(struct seep_recorder_result *result,
			     const struct seep_profile_other *share, const char *exe,
			     const char *path, struct seep_profile *profile)
{
	struct seep_profile_other *other;

	result->others = seep_xgrow(result->others, &result->other_capacity,
				    result->other_count + 1, sizeof(*result->others));
	other = &result->others[result->other_count++];
	*other = *share;
	other->exe = seep_xstrdup(exe);
	other->file = seep_xstrdup(seep_path_base(path));
	if (!profile || (result->lead && result->lead->totals.peak_bytes >= share->peak_bytes)) {
		seep_profile_free(profile);
		return;
	}
	seep_profile_free(result->lead);
	free(result->lead_path);
	result->lead = profile;
	result->lead_path = seep_xstrdup(path);
}

void seep_recorder_result_done(struct seep_recorder_result *result)
{
	seep_profile_free(result->profile);
	seep_profile_free(result->lead);
	free(result->lead_path);
	free(result->folder);
	for (size_t i = 0; i < result->other_count; i++) {
		free(result->others[i].exe);
		free(result->others[i].file);
	}
	free(result->others);
	for (size_t i = 0; i < result->left_count; i++) {
		free(result->left[i].path);
		free(result->left[i].exe);
	}
	free(result->left);
	for (size_t i = 0; i < result->problem_count; i++) {
		free(result->problems[i]);
	}
	free(result->problems);
	for (size_t i = 0; i < result->note_count; i++) {
		free(result->notes[i]);
	}
	free(result->notes);
	*result = (struct seep_recorder_result){ 0 };
}
