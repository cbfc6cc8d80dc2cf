/* SPDX-License-Identifier: MIT */
/* "seep attach": record a process that runs. "seep detach": no more. */
#include <stdio.h>
#include <stdlib.h>

#include "base/procfs.h"
#include "base/units.h"
#include "base/xalloc.h"
#include "cli/command.h"
#include "cli/complain.h"
#include "target/attach.h"
#include "target/preflight.h"

static struct {
	uint64_t deadline_ns;
} asked = { .deadline_ns = 1000000000 };

static const struct seep_option options[] = {
	SEEP_OPTION("deadline", 0, DURATION, "T", asked.deadline_ns,
		    "Look for a safe point for T (default: 1s), else refuse"),
};

const struct seep_option_table cmd_attach_options = {
	SEEP_OPTIONS(options),
	.min_operands = 1,
	.max_operands = 1,
	.details = "x\n",
};

const struct seep_option_table cmd_detach_options = {
	SEEP_OPTIONS(options),
	.min_operands = 1,
	.max_operands = 1,
	.details = "x\n",
};

int cmd_attach(char **operands, struct seep_error *err)
{
	SEEP_FREED char *library = NULL;
	struct seep_attach_result result = { 0 };
	struct seep_attach_plan plan = { .options = "", .dir = "", .deadline_ns = asked.deadline_ns };
	int rc = seep_runtime_find(&library, err);

	plan.library = library;
	if (rc == 0)
		rc = seep_attach((pid_t)atoi(operands[0]), &plan, &result, err);
	printf("tries %u stopped %.3f ms longest %.3f ms changed %u %s\n", result.tries, (double)result.stopped_ns / 1e6,
	       (double)result.longest_ns / 1e6, result.changed, result.ledger ? result.ledger : "");
	return rc;
}

int cmd_detach(char **operands, struct seep_error *err)
{
	struct seep_attach_result result = { 0 };
	struct seep_attach_plan plan = { .options = "", .dir = "", .library = "", .deadline_ns = asked.deadline_ns };
	int rc = seep_detach((pid_t)atoi(operands[0]), &plan, &result, err);

	printf("tries %u stopped %.3f ms longest %.3f ms changed %u %s\n", result.tries, (double)result.stopped_ns / 1e6,
	       (double)result.longest_ns / 1e6, result.changed, result.ledger ? result.ledger : "");
	return rc;
}
