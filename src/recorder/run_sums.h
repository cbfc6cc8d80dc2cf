/* SPDX-License-Identifier: MIT */
/* What all processes of a run come to together. */
#ifndef SEEP_RECORDER_RUN_SUMS_H
#define SEEP_RECORDER_RUN_SUMS_H

#include "recorder/recorder_result.h"

/**
 * seep_run_sum - fill run and others of @profile, the main program's
 * @others: copied
 * @forked: forks of all processes that have no recording
 */
void seep_run_sum(struct seep_profile *profile, const struct seep_profile_other *others,
		  uint32_t count, const struct seep_profile_forked *forked);

/* Say in @profile, the main program's, what was not recorded of others, and is in no sum. */
void seep_run_explain(struct seep_profile *profile, const struct seep_recorder_result *run);

/* "2 processes without a recording called exec: ..."; NULL: none did. Release with free(). */
char *seep_run_unrecorded(const struct seep_recorder_result *run);

#endif
