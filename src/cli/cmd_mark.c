/* SPDX-License-Identifier: MIT */
/* "seep mark": name this moment of a running process, to ask later what was allocated since. */
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/path.h"
#include "base/procfs.h"
#include "base/terminal.h"
#include "base/units.h"
#include "base/xalloc.h"
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
	.options = options,
	.count = SEEP_OPTION_COUNT_OF(options),
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
	struct seep_ledger ledger;
	int rc = seep_ledger_operand_open(operand, &ledger, err);
	uint64_t age_ns;
	char *line, *escaped;

	if (rc < 0)
		return rc;
	rc = seep_ledger_mark(&ledger, name, now_ns, NULL, err);
	age_ns = ledger.view.header.created_ns;
	age_ns = now_ns > age_ns ? now_ns - age_ns : 0;
	seep_ledger_close(&ledger);
	if (rc < 0)
		return rc;
	line = seep_xasprintf("mark %s set in %s (pid %u) at %s", name,
			      seep_path_base(operand->entry->exe), operand->entry->pid,
			      seep_duration_text(age_ns).text);
	escaped = seep_escape_dup(line);
	puts(escaped);
	free(escaped);
	free(line);
	return 0;
}

/* By parents as they are now, and as they were when its ledger was made. */
static bool is_below(const struct seep_census_entry *entry, uint32_t ancestor)
{
	struct seep_procfs_stat stat;
	uint32_t pid = entry->pid;

	for (int i = 0; i < ANCESTORS_MAX && pid > 1 && seep_procfs_stat(pid, &stat); i++) {
		pid = stat.ppid;
		if (pid == ancestor)
			return true;
	}
	return entry->ppid == ancestor;
}

/* One that ends meanwhile is none. */
static int mark_tree(const struct seep_census *census, uint32_t ancestor, const char *name,
		     struct seep_error *err)
{
	int rc = 0;

	for (size_t i = 0; i < census->count && rc == 0; i++) {
		const struct seep_census_entry *entry = &census->entries[i];
		const struct seep_ledger_operand operand = {
			.path = entry->path,
			.entry = entry,
			.runs = entry->state <= SEEP_CENSUS_RECORDER_GONE,
		};

		if (!operand.runs || seep_census_find(census, entry->pid) != entry ||
		    entry->pid == ancestor || !is_below(entry, ancestor))
			continue;
		rc = set_mark(&operand, name, err);
		if (rc == -SEEP_ENOTFOUND)
			rc = 0;
	}
	return rc;
}

int cmd_mark(char **operands)
{
	struct seep_ledger_operand ledger = { 0 };
	struct seep_census census = { 0 };
	struct seep_error err = { 0 };
	int status = SEEP_EXIT_OK;
	int rc;

	rc = seep_mark_name_check(operands[1], &err);
	if (rc == 0)
		rc = seep_census_take(&census, &err);
	if (rc == 0)
		rc = seep_ledger_operand_find(&census, operands[0], &ledger, &err);
	if (rc == 0)
		rc = set_mark(&ledger, operands[1], &err);
	if (rc == 0 && tree)
		rc = mark_tree(&census, ledger.entry->pid, operands[1], &err);
	if (rc < 0)
		status = seep_complain("mark", &err);
	if (rc == -SEEP_ENOTFOUND && !ledger.entry)
		seep_ledger_operand_hint(operands[0]);
	seep_census_done(&census);
	free(ledger.path);
	return status;
}
