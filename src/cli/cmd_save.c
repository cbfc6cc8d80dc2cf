/* SPDX-License-Identifier: MIT */
/* "seep save": make a recording of a running process, or of the ledger that a dead one left. */
#include <stdlib.h>

#include "cli/command.h"
#include "cli/complain.h"
#include "cli/ledger_operand.h"
#include "cli/save_ledger.h"
#include "cli/symbol_options.h"
#include "recorder/census.h"
#include "recorder/outname.h"

static const char *output_pattern;
static struct seep_save asked;

static const struct seep_option options[] = {
	SEEP_OPTION("output", 'o', TEXT, "FILE", output_pattern,
		    "Write the recording to FILE (default: ./%e.%p.seep)"),
	SEEP_OPTION("force", 'f', FLAG, NULL, asked.force, "Replace FILE if it exists"),
	SEEP_OPTION("quiet", 'q', FLAG, NULL, asked.quiet, "Print no summary"),
	SEEP_SYMBOL_OPTIONS(asked.symbols),
};

const struct seep_option_table cmd_save_options = {
	.options = options,
	.count = SEEP_OPTION_COUNT_OF(options),
	.min_operands = 1,
	.max_operands = 1,
	.details =
		"Use it for daemons that \"seep run\" left running, for programs started with\n"
		"LD_PRELOAD, and for ledgers left by a recorder that was killed. \"seep ps\" lists\n"
		"all of them. A running process is neither stopped nor changed. The ledger of a\n"
		"dead process is removed when its recording is written, unless you gave the path\n"
		"of a file in another folder.\n",
};

int cmd_save(char **operands)
{
	struct seep_census census = { 0 };
	struct seep_error err = { 0 };
	struct seep_ledger_operand ledger = { 0 };
	char *output = NULL;
	int status;
	int rc;

	rc = seep_census_take(&census, &err);
	if (rc == 0)
		rc = seep_ledger_operand_find(&census, operands[0], &ledger, &err);
	if (rc == 0)
		rc = seep_save_name(output_pattern, ledger.path, &output, &err);
	if (rc == 0)
		rc = seep_outname_check(output, asked.force, &err);
	if (rc == 0)
		rc = seep_save(&ledger, &asked, output, &err);
	status = SEEP_EXIT_OK;
	if (rc < 0) {
		status = seep_complain("save", &err);
		if (err.code == SEEP_ENOTFOUND)
			seep_ledger_operand_hint(operands[0]);
	}
	seep_census_done(&census);
	free(ledger.path);
	free(output);
	return status;
}
