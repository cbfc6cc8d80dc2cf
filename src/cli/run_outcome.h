/* SPDX-License-Identifier: MIT */
/* What "seep run" says when the program has ended. */
#ifndef SEEP_CLI_RUN_OUTCOME_H
#define SEEP_CLI_RUN_OUTCOME_H

#include <stdbool.h>

#include "recorder/recorder_result.h"

/* All borrowed. */
struct seep_run_outcome {
	const char *program; /* name */
	const char *program_path;
	const char *ledger_dir; /* where its ledger was to be made */
	const char *output;	/* path of the recording, whether it came about or not */
	const char *json;	/* as the option's value, see cli/json_report.h; NULL: no report */
	bool quiet;		/* problems only */
};

/* The summary on standard error, the report on standard output. Sorts the children in @result. */
void seep_run_outcome_print(const struct seep_run_outcome *outcome,
			    const struct seep_recorder_result *result);

#endif
