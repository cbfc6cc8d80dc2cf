/* SPDX-License-Identifier: MIT */
/* "seep mode": what a running process records from now on. */
#include <stdio.h>
#include <string.h>

#include "base/path.h"
#include "cli/command.h"
#include "cli/complain.h"
#include "cli/ledger_operand.h"
#include "profile/kind_name.h"
#include "recorder/ledger_control.h"

const struct seep_option_table cmd_mode_options = {
	.min_operands = 2,
	.max_operands = 2,
	.details =
		"all: every allocation. scoped: what is allocated in scopes (seep/seep.h).\n"
		"off: nothing. Frees of what was recorded are counted in any mode.\n"
		"exact, counts, sampled: how, as --tier of \"seep run\" says. What was recorded\n"
		"before stays as exact as it was. The process is neither stopped nor changed.\n",
};

static const struct {
	const char *name;
	enum ledger_mode mode;
	const char *records;
} modes[] = {
	{ "all", LEDGER_MODE_ALL, "all allocations" },
	{ "scoped", LEDGER_MODE_SCOPED, "what is allocated in scopes" },
	{ "off", LEDGER_MODE_OFF, "nothing" },
	{ "exact", LEDGER_MODE_ALL, "all call stacks" },
	{ "counts", LEDGER_MODE_COUNTS, "all allocations, and the call stacks of a sample" },
	{ "sampled", LEDGER_MODE_SAMPLED, "a sample of its allocations" },
};
enum { TIERS_FROM = 3 };

int cmd_mode(char **operands, struct seep_error *err)
{
	SEEP_RELEASED(seep_ledger_operand_done) struct seep_ledger_operand operand = { 0 };
	SEEP_RELEASED(seep_ledger_close) struct seep_ledger ledger = { .fd = -1 };
	size_t i = 0;
	uint32_t mode;
	int rc;

	while (i < sizeof(modes) / sizeof(modes[0]) && strcmp(operands[1], modes[i].name) != 0)
		i++;
	if (i == sizeof(modes) / sizeof(modes[0]))
		return seep_fail(err, SEEP_EUSAGE,
				 "%s is no mode; modes are all, scoped and off, and the tiers "
				 "exact, counts and sampled",
				 operands[1]);
	rc = seep_ledger_operand_find(operands[0], &operand, err);
	if (rc == 0)
		rc = seep_ledger_operand_open(&operand, &ledger, err);
	if (rc < 0)
		return rc;
	if (i < TIERS_FROM)
		seep_ledger_set_mode(ledger.control, modes[i].mode);
	else
		seep_ledger_set_tier(&ledger, modes[i].mode, modes[i].name);
	seep_print_escaped(stdout, "%s (pid %u) records %s", seep_path_base(operand.entry->exe),
			   operand.entry->pid, modes[i].records);
	mode = LEDGER_GET(ledger.control->mode) & LEDGER_MODE_MASK;
	if (i >= TIERS_FROM && mode != LEDGER_MODE_ALL)
		seep_print_escaped(stdout,
				   "Its mode is still %s: \"seep mode %u all\" records all of it",
				   seep_profile_mode_name(mode), operand.entry->pid);
	return 0;
}
