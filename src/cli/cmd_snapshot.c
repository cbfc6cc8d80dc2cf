/* SPDX-License-Identifier: MIT */
/* "seep snapshot": a recording of a process that goes on running, as often as it is typed. */
#include <stdlib.h>
#include <unistd.h>

#include "base/xalloc.h"
#include "cli/command.h"
#include "cli/complain.h"
#include "cli/ledger_operand.h"
#include "cli/save_ledger.h"
#include "recorder/outname.h"

static const char *output_pattern;
static struct seep_save asked;

static const struct seep_option options[] = {
	SEEP_OPTION("output", 'o', TEXT, "FILE", output_pattern,
		    "Write the recording to FILE (default: ./%e.%p.1.seep, or the next number)"),
	SEEP_OPTION("force", 'f', FLAG, NULL, asked.force, "Replace FILE if it exists"),
	SEEP_OPTION("quiet", 'q', FLAG, NULL, asked.quiet, "Print no summary"),
	SEEP_SYMBOL_OPTIONS(asked.symbols),
};

const struct seep_option_table cmd_snapshot_options = {
	.options = options,
	.count = SEEP_OPTION_COUNT_OF(options),
	.min_operands = 1,
	.max_operands = 1,
	.details = "The process is neither stopped nor changed. \"seep diff\" compares two\n"
		   "snapshots. \"seep save\" does the same for processes that have ended.\n",
};

/* The first number that is free; one that somebody else takes meanwhile is passed over too. */
static int save_next(const struct seep_ledger_operand *ledger, struct seep_error *err)
{
	int rc = -SEEP_EEXIST;

	for (unsigned number = 1; rc == -SEEP_EEXIST && number; number++) {
		char *pattern = seep_xasprintf("./%%e.%%p.%u.seep", number);
		char *output = NULL;

		rc = seep_save_name(pattern, ledger->path, &output, err);
		if (rc == 0 && access(output, F_OK) == 0)
			rc = -SEEP_EEXIST;
		else if (rc == 0)
			rc = seep_outname_check(output, false, err);
		if (rc == 0)
			rc = seep_save(ledger, &asked, output, err);
		free(output);
		free(pattern);
	}
	return rc;
}

static int snapshot(const struct seep_ledger_operand *ledger, struct seep_error *err)
{
	char *output = NULL;
	int rc;

	if (!output_pattern)
		return save_next(ledger, err);
	rc = seep_save_name(output_pattern, ledger->path, &output, err);
	if (rc == 0)
		rc = seep_outname_check(output, asked.force, err);
	if (rc == 0)
		rc = seep_save(ledger, &asked, output, err);
	free(output);
	return rc;
}

int cmd_snapshot(char **operands)
{
	struct seep_ledger_operand ledger = { 0 };
	struct seep_census census = { 0 };
	struct seep_error err = { 0 };
	int status = SEEP_EXIT_OK;
	int rc;

	rc = seep_census_take(&census, &err);
	if (rc == 0)
		rc = seep_ledger_operand_find(&census, operands[0], &ledger, &err);
	if (rc == 0)
		rc = seep_ledger_operand_check(&ledger, &err);
	if (rc == 0)
		rc = snapshot(&ledger, &err);
	if (rc < 0)
		status = seep_complain("snapshot", &err);
	if (rc < 0 && ledger.path && !ledger.runs && access(ledger.path, F_OK) == 0)
		seep_hint("\"seep save %s\" makes a recording of what has ended", operands[0]);
	else if (rc == -SEEP_ENOTFOUND)
		seep_ledger_operand_hint(operands[0]);
	seep_census_done(&census);
	free(ledger.path);
	return status;
}
