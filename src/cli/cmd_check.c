/* SPDX-License-Identifier: MIT */
/* "seep check": whether recordings keep to budgets, for what runs checks. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/path.h"
#include "base/xalloc.h"
#include "cli/command.h"
#include "cli/complain.h"
#include "cli/ledger_operand.h"
#include "cli/output_file.h"
#include "cli/symbol_options.h"
#include "recorder/leak_check.h"
#include "recorder/outname.h"
#include "report/check.h"

static struct {
	struct seep_option_list budgets;
	struct seep_option_list baselines;
	struct seep_option_list suppressions;
	bool allow_unknown;
	bool no_children;
	int widens;
	const char *junit;
	const char *sarif;
	bool github;
	struct seep_symbol_option_values symbols;
} asked;

static const struct seep_option options[] = {
	SEEP_OPTION("budget", 'b', LIST, "BUDGET", asked.budgets,
		    "Check BUDGET: MEASURE[{within=FUNCTION}]<=LIMIT (default: leaks<=0)"),
	SEEP_OPTION(
		"baseline", 0, LIST, "FILE", asked.baselines,
		"Compare with this earlier recording: known leaks count only if they grew, known "
		"findings not"),
	SEEP_OPTION("suppressions", 0, LIST, "FILE", asked.suppressions,
		    "Suppress the leaks and findings that rules in FILE match"),
	SEEP_OPTION("allow-unknown", 0, FLAG, NULL, asked.allow_unknown,
		    "Pass what could not be checked"),
	SEEP_OPTION("no-children", 0, FLAG, NULL, asked.no_children,
		    "Check FILE alone, not the other processes of its run"),
	SEEP_OPTION("estimates", 0, CHOICE, "refuse|widen", asked.widens,
		    "Where a figure is an estimate: do not judge it, or break a budget only if the "
		    "figure less its error does (default: refuse)",
		    .choices = (const char *const[]){ "refuse", "widen", NULL }),
	SEEP_OPTION("junit", 0, TEXT, "XML", asked.junit,
		    "Write the result as JUnit's XML to the file XML too"),
	SEEP_OPTION(
		"sarif", 0, TEXT, "SARIF", asked.sarif,
		"Write leaks, findings and broken budgets as SARIF 2.1.0 to the file SARIF too"),
	SEEP_OPTION("github", 0, FLAG, NULL, asked.github,
		    "Print annotations for GitHub, and add to the file GITHUB_STEP_SUMMARY"),
	SEEP_SYMBOL_OPTIONS(asked.symbols),
};

const struct seep_option_table cmd_check_options = {
	SEEP_OPTIONS(options),
	.min_operands = 1,
	.max_operands = SIZE_MAX,
	.details =
		"  seep check run.seep                        no leaks\n"
		"  seep check -b 'peak<=24MB' -b 'leaks<=0' -b 'findings<=0' run.seep\n"
		"  seep check -b 'function:parse_*:allocs<=10k' run.seep\n"
		"  seep check -b 'held{within=handle_request}<=0' run.seep\n"
		"  seep check --baseline old.seep -b 'live<=+5%' -b 'leaks<=0' run.seep\n"
		"\n"
		"MEASURE is peak, live, allocs, temporary, lost, growth, leaks or findings, that\n"
		"is heap errors; held is live. {within=FUNCTION} counts what a function, and all\n"
		"that it calls, allocated; FUNCTION may be a pattern, FILE:LINE or a module.\n"
		"function:NAME:MEASURE counts what goes with a leak, too.\n"
		"The status is 1 if a budget is broken, 2 if one could not be checked.\n",
};

static int read_budgets(struct seep_budgets *budgets, struct seep_error *err)
{
	int rc = asked.budgets.count == 0 ? seep_budgets_add(budgets, "leaks<=0", err) : 0;

	for (size_t i = 0; i < asked.budgets.count && rc == 0; i++)
		rc = seep_budgets_add(budgets, asked.budgets.items[i], err);
	for (size_t i = 0; i < budgets->count && rc == 0; i++)
		if (budgets->items[i].is_relative && asked.baselines.count == 0)
			rc = seep_fail(err, SEEP_EUSAGE, "'%s' needs a --baseline",
				       budgets->items[i].text);
	return rc;
}

static int load(struct seep_budget_side *side, const char *path, struct seep_error *err)
{
	const struct seep_leak_check_plan plan = { .suppressions = asked.suppressions.items,
						   .suppression_count = asked.suppressions.count };
	int rc = seep_symbol_options_open(&asked.symbols, path, &side->profile, err);

	if (rc == 0)
		rc = seep_leak_check_suppress(side->profile, &plan, err);
	if (rc == 0)
		side->sites = seep_sites_new(side->profile);
	return rc;
}

/* What is checked, and against what. */
struct job {
	struct seep_check check;
	struct seep_baseline baseline;
	const char *operand; /* what is read now */
	bool is_baseline;
};

/* Read the recording at @path and those of the other processes of its run. */
static int read_run(struct job *job, const char *path, bool is_child, struct seep_error *err)
{
	const struct seep_budget_plan plan = { &job->baseline, is_child, asked.no_children,
					       asked.widens };
	struct seep_budget_side side = { 0 };
	SEEP_FREED char *folder = seep_outname_folder(path);
	int rc;

	if (!is_child)
		job->operand = path;
	rc = load(&side, path, err);
	if (rc == 0 && !job->is_baseline)
		seep_check_add(&job->check, path, &side, &plan);
	for (uint32_t i = 0;
	     rc == 0 && !is_child && !asked.no_children && i < side.profile->other_count; i++) {
		const char *file = side.profile->others[i].file;
		/* Hostile: it is a name in that folder, nothing else. */
		SEEP_FREED char *other = seep_xasprintf("%s/%s", folder,
							file ? seep_path_base(file) : "");

		rc = read_run(job, other, true, err);
	}
	if (rc == 0 && job->is_baseline)
		seep_baseline_take(&job->baseline, side);
	else
		seep_budget_side_done(&side);
	return rc;
}

/* A command in a name would be one of the workflow's: until the token is said again none is. */
static void show_to_github(const struct seep_check *check)
{
	uint64_t token[2] = { 0 };

	if (getrandom(token, sizeof(token), 0) != sizeof(token))
		token[0] = (uint64_t)getpid();
	printf("::stop-commands::seep%016" PRIx64 "%016" PRIx64 "\n", token[0], token[1]);
	seep_check_text(stdout, check);
	printf("::seep%016" PRIx64 "%016" PRIx64 "::\n", token[0], token[1]);
	seep_check_github(stdout, check);
}

static int add_summary(const struct seep_check *check, struct seep_error *err)
{
	const char *path = getenv("GITHUB_STEP_SUMMARY");
	FILE *out;

	if (!path || !*path)
		return 0;
	if (seep_output_check(path, "a summary", err) < 0)
		return -SEEP_EEXIST;
	out = fopen(path, "ae");
	if (!out)
		return seep_fail_errno(err, errno, "%s", path);
	seep_check_markdown(out, check);
	return fclose(out) == 0 ? 0 : seep_fail_errno(err, errno, "%s", path);
}

static int write_file(const char *path, const char *what,
		      void (*write)(FILE *out, const struct seep_check *check),
		      const struct seep_check *check, struct seep_error *err)
{
	struct seep_atomic_file file;
	int rc = seep_output_begin(path, what, &file, err);

	if (rc < 0)
		return rc;
	write(file.stream, check);
	return seep_output_end(&file, err);
}

/* One would replace the other. Links tell only when what they lead to is there. */
static int check_outputs(struct seep_error *err)
{
	struct stat st;

	if (!asked.junit || !asked.sarif || (stat(asked.sarif, &st) == 0 && !S_ISREG(st.st_mode)) ||
	    (!seep_path_is_same(asked.junit, asked.sarif) &&
	     !seep_path_is_same_file(asked.junit, asked.sarif)))
		return 0;
	return seep_fail(err, SEEP_EUSAGE, "--junit and --sarif are one file, %s", asked.sarif);
}

static int show(const struct seep_check *check, struct seep_error *err)
{
	int rc = 0;

	(asked.github ? show_to_github(check) : seep_check_text(stdout, check));
	if (asked.junit)
		rc = write_file(asked.junit, "JUnit", seep_check_junit, check, err);
	if (rc == 0 && asked.sarif)
		rc = check_outputs(err);
	if (rc == 0 && asked.sarif)
		rc = write_file(asked.sarif, "SARIF", seep_check_sarif, check, err);
	return rc == 0 && asked.github ? add_summary(check, err) : rc;
}

int cmd_check(char **operands, struct seep_error *err)
{
	static const int statuses[SEEP_BUDGET_RESULT_COUNT] = {
		[SEEP_BUDGET_KEPT] = SEEP_EXIT_OK,
		[SEEP_BUDGET_BROKEN] = SEEP_EXIT_FOUND,
		[SEEP_BUDGET_NOT_KNOWN] = SEEP_EXIT_FAILURE,
	};
	SEEP_RELEASED(seep_budgets_done) struct seep_budgets budgets = { 0 };
	/* By the name that the shell has, which may lead through links: compilers write that. */
	SEEP_FREED char *root = get_current_dir_name();
	struct job job = {
		.check = { .budgets = &budgets,
			   .root = root,
			   .allow_unknown = asked.allow_unknown },
		.is_baseline = true,
	};
	int status, rc;

	rc = root ? read_budgets(&budgets, err)
		  : seep_fail_errno(err, errno, "the working directory");
	if (rc == 0)
		rc = check_outputs(err);
	for (size_t i = 0; i < asked.baselines.count && rc == 0; i++)
		rc = read_run(&job, asked.baselines.items[i], false, err);
	job.is_baseline = false;
	for (; *operands && rc == 0; operands++)
		rc = read_run(&job, *operands, false, err);
	if (rc == 0)
		rc = show(&job.check, err);
	status = rc == 0 ? statuses[seep_check_result(&job.check)] : seep_complain("check", err);
	if (rc < 0 && job.operand)
		seep_open_hint(job.operand, err);
	seep_check_done(&job.check);
	seep_baseline_done(&job.baseline);
	return status;
}
