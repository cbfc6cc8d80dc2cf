/* SPDX-License-Identifier: MIT */
/* "seep leaks": what a process has lost by now, or had lost at its end. */
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>

#include "cli/command.h"
#include "cli/complain.h"
#include "cli/output_file.h"
#include "cli/leak_options.h"
#include "cli/ledger_operand.h"
#include "cli/symbol_options.h"
#include "ledger/ledger.h"
#include "profile/ledger_file.h"
#include "profile/process_life.h"
#include "profile/verdict.h"
#include "recorder/scan_request.h"
#include "report/report.h"
#include "target/leak_scan.h"
#include "target/packages.h"
#include "target/spawn.h"

enum { TOP_MAX = 10000000 };

static struct {
	uint64_t top_count;
	bool full;
	bool answer;
	const char *json;
	struct seep_leak_option_values leaks;
	struct seep_symbol_option_values symbols;
} asked;

static const struct seep_option options[] = {
	SEEP_OPTION("top", 'n', COUNT, "N", asked.top_count, "Show the N largest (default: all)",
		    .max = TOP_MAX),
	SEEP_LEAK_OPTIONS(asked.leaks),
	SEEP_LEAK_SCAN_OPTIONS(asked.leaks),
	SEEP_LEAK_VIEW_OPTIONS(asked.leaks),
	SEEP_OPTION("full", 0, FLAG, NULL, asked.full, "Show whole stacks and whole names"),
	SEEP_JSON_OPTION(asked.json),
	SEEP_SYMBOL_OPTIONS(asked.symbols),
	SEEP_OPTION("answer", 0, FLAG, NULL, asked.answer,
		    "Answer the process that has the ledger FILE and waits for its own check of "
		    "leaks; libseep.so starts that"),
};

const struct seep_option_table cmd_leaks_options = {
	SEEP_OPTIONS(options),
	.min_operands = 1,
	.max_operands = 1,
	.details =
		"A running process is stopped for as long as it takes to fork, and goes on while\n"
		"it is looked through; it can be scanned any number of times. NAME is that of a\n"
		"program of which one process runs. FILE is a recording, which has the leaks of\n"
		"the process's end.\n"
		"\n"
		"LIST has commas between: lost, lost-cycle, lost-with, maybe-lost, fork-orphan,\n"
		"runtime, suppressed, ignored, reachable; or valgrind's definite, indirect,\n"
		"possible.\n"
		"\n"
		"Suppressions are written as for LeakSanitizer (leak:PATTERN) or valgrind, or as\n"
		"hash:HASH of a leak. Without --error-exitcode the status is 0 whatever is found,\n"
		"and 2 if nobody could look.\n",
};

static int name(void *user, struct seep_profile *profile, struct seep_error *err)
{
	(void)user;
	return seep_symbol_options_name(&asked.symbols, profile, err);
}

static int load(const char *path, bool is_ledger, const struct seep_leak_check_plan *plan,
		struct seep_profile **ret_profile, struct seep_error *err)
{
	int rc = seep_symbol_options_open(&asked.symbols, path, ret_profile, err);

	if (rc == 0)
		rc = seep_leak_check_suppress(*ret_profile, plan, err);
	if (rc < 0)
		return rc;
	if (plan->dump_bytes && (*ret_profile)->scan.done)
		seep_hint("contents are kept by the scan: seep run --dump-bytes %" PRIu32,
			  plan->dump_bytes);
	seep_leak_check_none(*ret_profile, !is_ledger ? seep_profile_not_scanned(*ret_profile)
					   : (*ret_profile)->process.ended == SEEP_ENDED_RUNNING
						   ? "the process cannot be found from here"
					   : (*ret_profile)->process.ended == SEEP_ENDED_DETACHED
						   ? "the process is not recorded any more: it was "
						     "detached from"
						   : "the process has ended");
	return 0;
}

/*
 * Scan the process whose ledger this is, if it runs what the ledger is about; else read the file.
 */
static int look(const char *path, const struct seep_leak_check_plan *plan,
		struct seep_profile **ret_profile, struct seep_error *err)
{
	SEEP_RELEASED(seep_ledger_close) struct seep_ledger ledger = { .fd = -1 };
	uint32_t pid = 0;

	if (seep_ledger_open(AT_FDCWD, path, SEEP_LEDGER_READ, &ledger, NULL) < 0)
		return load(path, false, plan, ret_profile, err);
	return seep_process_life(&ledger, &pid) == SEEP_PROCESS_RUNNING &&
			       LEDGER_GET(ledger.state->ended) == LEDGER_ENDED_RUNNING
		       ? seep_leak_check_now(&ledger, pid, SEEP_SCAN_LIVE, plan, NULL, ret_profile,
					     err)
		       : load(path, true, plan, ret_profile, err);
}

static int print(const struct seep_profile *profile, const char *operand,
		 const struct seep_view_options *view, struct seep_error *err)
{
	const struct seep_printer printer = seep_printer_for(stdout, 0);
	SEEP_RELEASED(seep_sites_free_at) struct seep_sites *sites = NULL;

	if (asked.json)
		return seep_json_report(asked.json, profile, view, err);
	sites = seep_sites_new(profile);
	if (!asked.leaks.gen_suppressions)
		seep_report_leaks(&printer, sites, view);
	/* No rules would say that there is nothing to suppress. */
	else if (profile->scan.done)
		seep_report_leak_rules(stdout, sites, view);
	return seep_leak_options_need_scan(profile, operand, err);
}

/* If nobody answers, the process says that itself. */
static int answer(const char *path)
{
	struct seep_leak_check_plan plan;
	SEEP_RELEASED(seep_ledger_close) struct seep_ledger ledger = { .fd = -1 };
	struct seep_view_options view;
	uint32_t pid = 0;
	sigset_t none;
	int rc;

	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	(void)signal(SIGCHLD, SIG_DFL);
	/* That nobody reads the report is no reason not to answer. */
	(void)signal(SIGPIPE, SIG_IGN);
	seep_spawn_guard_stdio();
	rc = seep_leak_options_read(&asked.leaks, &plan, &view, NULL);
	if (rc == 0)
		rc = seep_ledger_open(AT_FDCWD, path, SEEP_LEDGER_WRITE, &ledger, NULL);
	if (rc < 0)
		return SEEP_EXIT_FAILURE;
	plan.report = seep_leak_report_now;
	if (seep_process_life(&ledger, &pid) == SEEP_PROCESS_RUNNING)
		seep_scan_request_answer(&ledger, pid, &plan);
	return SEEP_EXIT_OK;
}

int cmd_leaks(char **operands, struct seep_error *err)
{
	SEEP_RELEASED(seep_ledger_operand_done) struct seep_ledger_operand ledger = { 0 };
	SEEP_RELEASED(seep_profile_free_at) struct seep_profile *profile = NULL;
	struct seep_leak_check_plan plan;
	struct seep_view_options view = {
		.by = SEEP_BY_LIVE,
		.top = (uint32_t)asked.top_count,
		.full = asked.full,
		.packages_of = seep_packages_of,
	};
	int rc;

	if (asked.answer)
		return answer(operands[0]);
	rc = seep_leak_options_read(&asked.leaks, &plan, &view, err);
	plan.name = name;
	if (rc == 0)
		rc = seep_json_check(asked.json, err);
	if (rc == 0)
		rc = seep_ledger_operand_find(operands[0], &ledger, err);
	if (rc == 0)
		rc = look(ledger.path, &plan, &profile, err);
	view.path = ledger.runs ? NULL : ledger.path;
	if (rc == 0)
		rc = print(profile, operands[0], &view, err);
	if (rc == 0 && seep_leak_check_verdicts(profile) &
			       (view.leak_kinds ? view.leak_kinds : SEEP_LEAK_KINDS))
		rc = (int)asked.leaks.error_exitcode;
	return rc;
}
