/* SPDX-License-Identifier: MIT */
/* "seep mark": name this moment of a running process, to ask later what was allocated since. */
#include <stdio.h>

#include "base/clock.h"
#include "base/path.h"
#include "base/procfs.h"
#include "base/units.h"
#include "cli/command.h"
#include "cli/complain.h"
#include "cli/ledger_operand.h"
#include "recorder/ledger_control.h"

enum { ANCESTORS_MAX = 1000 };

static bool tree;

static const struct seep_option options[] = {
	SEEP_OPTION("tree", 0, FLAG, NULL, tree, "Mark its recorded descendants too"),
};

const struct seep_option_table cmd_mark_options = {
	SEEP_OPTIONS(options),
	.min_operands = 2,
	.max_operands = 2,
	.details =
		"MARK has 1 to 47 bytes and no @; \"now\" is taken. The process is neither\n"
		"stopped nor changed; its next allocations count as after the mark. Of several\n"
		"marks with one name the last one counts. \"seep diff PID@MARK\" shows what was\n"
		"allocated since and is still alive. seep_mark() in seep/seep.h does the same\n"
		"from inside the program.\n",
};

static int set_mark(const struct seep_ledger_operand *operand, const char *name,
		    struct seep_error *err)
{
	const uint64_t now_ns = seep_monotonic_ns();
	SEEP_RELEASED(seep_ledger_close) struct seep_ledger ledger = { .fd = -1 };
	int rc = seep_ledger_operand_open(operand, &ledger, err);
	uint64_t made_ns;

	if (rc == 0)
		rc = seep_ledger_mark(&ledger, name, now_ns, NULL, err);
	if (rc < 0)
		return rc;
	made_ns = ledger.view.header.created_ns;
	seep_print_escaped(stdout, "mark %s set in %s (pid %u) at %s", name,
			   seep_path_base(operand->entry->exe), operand->entry->pid,
			   seep_duration_text(now_ns > made_ns ? now_ns - made_ns : 0).text);
	return 0;
}

/* By parents as they are now, and as they were when its ledger was made. */
static bool is_below(const struct seep_census_entry *entry,
		     const struct seep_census_entry *ancestor)
{
	struct seep_procfs_stat stat;
	uint32_t pid = entry->here_pid;

	for (int i = 0; i < ANCESTORS_MAX && pid > 1 && seep_procfs_stat(pid, &stat); i++) {
		pid = stat.ppid;
		if (pid == ancestor->here_pid)
			return true;
	}
	return entry->ppid == ancestor->pid && entry->pid_namespace == ancestor->pid_namespace;
}

/* One that ends meanwhile is none. */
static int mark_tree(const struct seep_ledger_operand *ancestor, const char *name,
		     struct seep_error *err)
{
	int rc = 0;

	for (size_t i = 0; i < ancestor->census.count && rc == 0; i++) {
		const struct seep_census_entry *entry = &ancestor->census.entries[i];
		const struct seep_ledger_operand operand = {
			.path = entry->path,
			.entry = entry,
			.runs = true,
		};

		if (!seep_census_runs(entry) || entry->here_pid == ancestor->entry->here_pid ||
		    !is_below(entry, ancestor->entry))
			continue;
		rc = set_mark(&operand, name, err);
		if (rc == -SEEP_ENOTFOUND)
			rc = 0;
	}
	return rc;
}

int cmd_mark(char **operands, struct seep_error *err)
{
	SEEP_RELEASED(seep_ledger_operand_done) struct seep_ledger_operand ledger = { 0 };
	int rc = seep_mark_name_check(operands[1], err);

	if (rc == 0)
		rc = seep_ledger_operand_find(operands[0], &ledger, err);
	if (rc == 0)
		rc = set_mark(&ledger, operands[1], err);
	if (rc == 0 && tree)
		rc = mark_tree(&ledger, operands[1], err);
	return rc;
}
