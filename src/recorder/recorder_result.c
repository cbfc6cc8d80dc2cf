/* SPDX-License-Identifier: MIT */
#include "recorder/recorder_result.h"

#include "base/path.h"
#include "base/xalloc.h"
#include "profile/verdict.h"
#include "recorder/finish.h"
#include "recording/recording.h"

#include <stdlib.h>

void seep_recorder_add_other(struct seep_recorder_result *result, const struct seep_finish_job *job,
			     const char *exe)
{
	struct seep_profile_other *other;

	result->others = seep_xgrow(result->others, &result->other_capacity,
				    result->other_count + 1, sizeof(*result->others));
	other = &result->others[result->other_count++];
	*other = job->share;
	other->exe = seep_xstrdup(exe);
	other->file = seep_xstrdup(seep_path_base(job->output));
	if (job->leak_verdicts & SEEP_LEAK_KINDS)
		seep_texts_take(&result->leaky, seep_xstrdup(job->output));
	result->unscanned_count += job->unscanned;
}

void seep_recorder_find_lead(struct seep_recorder_result *result)
{
	uint64_t peak_bytes = result->profile ? result->profile->totals.peak_bytes : 0;
	const char *file = NULL;

	for (size_t i = 0; i < result->other_count; i++)
		if (result->others[i].peak_bytes > peak_bytes) {
			peak_bytes = result->others[i].peak_bytes;
			file = result->others[i].file;
		}
	if (!file)
		return;
	result->lead_path = seep_xasprintf("%s/%s", result->folder, file);
	if (seep_recording_load(result->lead_path, &result->lead, NULL) < 0)
		result->lead = NULL;
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
	seep_texts_done(&result->leaky);
	seep_texts_done(&result->left);
	seep_texts_done(&result->problems);
	seep_texts_done(&result->notes);
	seep_texts_done(&result->unrecorded);
	*result = (struct seep_recorder_result){ 0 };
}
