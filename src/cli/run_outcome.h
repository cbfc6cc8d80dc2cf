/* SPDX-License-Identifier: MIT */
/* What "seep run" says when the program has ended. */
#ifndef SEEP_CLI_RUN_OUTCOME_H
#define SEEP_CLI_RUN_OUTCOME_H

#include "recorder/recorder.h"
#include "target/preflight.h"

/*
 * The summary on standard error unless the plan is quiet; then, unless @json is NULL, the report to
 * where this value of --json says (cli/output_file.h).
 */
void seep_run_outcome_print(const struct seep_program *program,
			    const struct seep_recorder_plan *plan, const char *json,
			    const struct seep_recorder_result *result);

#endif
