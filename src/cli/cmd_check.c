/* SPDX-License-Identifier: MIT */
/* "seep check": whether recordings keep to budgets, for what runs checks. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/path.h"
#include "base/xalloc.h"
#include "cli/command.h"
#include "cli/complain.h"
#include "cli/json_report.h"
#include "cli/leak_options.h"
#include "cli/symbol_options.h"
#include "profile/context_hash.h"
#include "profile/verdict.h"
#include "recorder/outname.h"
#include "recording/recording.h"
#include "report/check.h"

enum { TOP_MAX = 10000000, TOP_DEFAULT = 3 };

static struct {
	struct seep_option_list budgets;
	const char *file;
	const char *max[SEEP_BUDGET_MEASURE_COUNT]; /* by measure */
	bool no_leaks;
	struct seep_option_list baselines;
	const char *allow_unknown;
	bool no_children;
	uint64_t top_count;
	bool full;
	const char *json;
	const char *junit;
	const char *sarif;
	bool github;
	const char *source_root;
	struct seep_leak_option_values leaks;
	struct seep_symbol_option_values symbols;
} asked = { .top_count = TOP_DEFAULT };

static const struct seep_option options[] = {
	SEEP_OPTION("budget", 'b', LIST, "BUDGET", asked.budgets,
		    "Check BUDGET: [PLACE:NAME:]MEASURE<LIMIT"),
	SEEP_OPTION("budgets", 0, TEXT, "FILE", asked.file,
		    "Check the budgets in FILE, one a line"),
	SEEP_OPTION("max-peak", 0, TEXT, "SIZE", asked.max[SEEP_BUDGET_PEAK],
		    "Check peak<=SIZE: live bytes at the peak"),
	SEEP_OPTION("max-live", 0, TEXT, "SIZE", asked.max[SEEP_BUDGET_LIVE],
		    "Check live<=SIZE: live bytes at the end"),
	SEEP_OPTION("max-lost", 0, TEXT, "SIZE", asked.max[SEEP_BUDGET_LOST],
		    "Check lost<=SIZE: bytes of leaks"),
	SEEP_OPTION("max-growth", 0, TEXT, "SIZE", asked.max[SEEP_BUDGET_GROWTH],
		    "Check growth<=SIZE: bytes by which call stacks grew that were GROWING"),
	SEEP_OPTION("max-allocs", 0, TEXT, "COUNT", asked.max[SEEP_BUDGET_ALLOCS],
		    "Check allocs<=COUNT: allocations"),
	SEEP_OPTION("max-temporary", 0, TEXT, "COUNT", asked.max[SEEP_BUDGET_TEMPORARY],
		    "Check temporary<=COUNT: temporary allocations"),
	SEEP_OPTION("no-leaks", 0, FLAG, NULL, asked.no_leaks, "Check leaks<=0"),
	SEEP_OPTION("baseline", 0, LIST, "FILE", asked.baselines,
		    "Compare with this earlier recording: known leaks do not count"),
	SEEP_OPTION("allow-unknown", 0, OPTIONAL, "LIST", asked.allow_unknown,
		    "Pass what is not known, for any reason or those in LIST"),
	SEEP_OPTION("no-children", 0, FLAG, NULL, asked.no_children,
		    "Check FILE alone, not the other processes of its run"),
	SEEP_OPTION("leak-kinds", 0, TEXT, "LIST", asked.leaks.kinds,
		    "Count verdicts in LIST as leaks, or \"all\" (lost,lost-cycle,lost-with)"),
	SEEP_OPTION("suppressions", 0, LIST, "FILE", asked.leaks.suppressions,
		    "Suppress the leaks that rules in FILE match"),
	SEEP_OPTION("top", 'n', COUNT, "N", asked.top_count,
		    "Show the N largest call stacks of a broken budget (default: 3; 0: all)",
		    .max = TOP_MAX),
	SEEP_OPTION("full", 0, FLAG, NULL, asked.full, "Show whole stacks and whole names"),
	SEEP_OPTION("json", 0, OPTIONAL, "JSON", asked.json,
		    "Write the result as JSON to the file JSON, else (or with -) to standard "
		    "output; \"strings\": to standard output, large numbers as strings"),
	SEEP_OPTION("junit", 0, TEXT, "XML", asked.junit,
		    "Write the result as JUnit's XML to the file XML too"),
	SEEP_OPTION("sarif", 0, TEXT, "SARIF", asked.sarif,
		    "Write leaks and broken budgets as SARIF 2.1.0 to the file SARIF too"),
	SEEP_OPTION("github", 0, FLAG, NULL, asked.github,
		    "Print annotations for GitHub, and add to the file GITHUB_STEP_SUMMARY"),
	SEEP_OPTION("source-root", 0, TEXT, "DIR", asked.source_root,
		    "Name source files relative to DIR (default: the working directory)"),
	SEEP_SYMBOL_OPTIONS(asked.symbols),
};

const struct seep_option_table cmd_check_options = {
	.options = options,
	.count = SEEP_OPTION_COUNT_OF(options),
	.min_operands = 1,
	.max_operands = SIZE_MAX,
	.details =
		"  seep check run.seep                        no leaks, and no growth\n"
		"  seep check --max-peak 24MB --no-leaks run.seep\n"
		"  seep check -b 'function:parse_*:allocs<10k' run.seep\n"
		"  seep check --baseline old.seep -b 'live<=+5%' -b 'leaks<=0' run.seep\n"
		"\n"
		"MEASURE is peak, live, blocks, lost, leaks, growth, allocs, allocated or\n"
		"temporary; PLACE is function, own-function, module or own-module, and NAME its\n"
		"name with * and ?. The status is 1 if a budget is broken, 2 if one could not be\n"
		"checked. Without a budget leaks<=0 is checked, and growth<=0 if it was judged.\n",
};

/* All that was asked for, in the one grammar. */
static int read_budgets(struct seep_budgets *budgets, struct seep_error *err)
{
	int rc = 0;

	for (size_t i = 0; i < asked.budgets.count && rc == 0; i++)
		rc = seep_budgets_add(budgets, asked.budgets.items[i], err);
	for (size_t i = 0; i < SEEP_BUDGET_MEASURE_COUNT && rc == 0; i++) {
		char *text;

		if (!asked.max[i])
			continue;
		text = seep_xasprintf("%s<=%s", seep_budget_measure_names[i], asked.max[i]);
		rc = seep_budgets_add(budgets, text, err);
		free(text);
	}
	if (rc == 0 && asked.no_leaks)
		rc = seep_budgets_add(budgets, "leaks<=0", err);
	if (rc == 0 && asked.file)
		rc = seep_budgets_read(budgets, asked.file, err);
	if (rc < 0 || budgets->count > 0)
		return rc;
	if (asked.file)
		return seep_fail(err, SEEP_EUSAGE, "%s holds no budgets", asked.file);
	rc = seep_budgets_add(budgets, "leaks<=0", err);
	if (rc == 0)
		rc = seep_budgets_add(budgets, "growth<=0", err);
	if (rc == 0)
		budgets->items[1].if_known = true;
	return rc;
}

static void side_done(struct seep_budget_side *side)
{
	seep_sites_free(side->sites);
	seep_profile_free(side->profile);
	*side = (struct seep_budget_side){ 0 };
}

static int side_load(struct seep_budget_side *side, const char *path,
		     const struct seep_leak_check_plan *plan, struct seep_error *err)
{
	int rc = seep_profile_open(path, &side->profile, err);

	if (rc == 0)
		rc = seep_symbol_options_name(&asked.symbols, side->profile, err);
	if (rc < 0)
		return rc;
	seep_profile_hash_contexts(side->profile);
	rc = seep_leak_check_suppress(side->profile, plan, err);
	if (rc == 0)
		side->sites = seep_sites_new(side->profile);
	return rc;
}

/* What is to be checked, and against what. */
struct job {
	struct seep_leak_check_plan leak_plan;
	struct seep_budgets budgets;
	struct seep_check check;
	struct seep_budget_side *baselines;
	size_t baseline_count;
	size_t baseline_capacity;
	struct seep_budget_plan plan;
};

static const char *program_of(const struct seep_profile *profile)
{
	return profile->process.exe ? seep_path_base(profile->process.exe) : "";
}

/*
 * The recording of the same program: of several its first for the first that is checked, and so on.
 * A single baseline is compared with all, whatever its program is called by now.
 */
static const struct seep_budget_side *baseline_for(const struct job *job, const char *name)
{
	const struct seep_budget_side *found = NULL;
	size_t before = 0;

	for (size_t i = 0; i + 1 < job->check.count; i++)
		before += strcmp(job->check.files[i].name, name) == 0;
	for (size_t i = 0; i < job->baseline_count; i++)
		if (strcmp(program_of(job->baselines[i].profile), name) == 0) {
			found = &job->baselines[i];
			if (before-- == 0)
				break;
		}
	return found || job->baseline_count != 1 ? found : &job->baselines[0];
}

/* The path of the recording of another process of the run that @path is about; to free(). */
static char *path_of_other(const char *path, const struct seep_profile_other *other)
{
	char *folder = seep_outname_folder(path);
	/* Hostile: it is a name in that folder, nothing else. */
	char *found = seep_xasprintf("%s/%s", folder,
				     other->file ? seep_path_base(other->file) : "");

	free(folder);
	return found;
}

/* With the other processes of its run. */
static int add_baseline(struct job *job, const char *path, bool is_child, struct seep_error *err)
{
	struct seep_budget_side side = { 0 };
	int rc = side_load(&side, path, &job->leak_plan, err);

	if (rc < 0) {
		side_done(&side);
		return rc;
	}
	seep_budget_known_add(&job->plan.known, side.profile, job->plan.leak_kinds);
	job->baselines = seep_xgrow(job->baselines, &job->baseline_capacity,
				    job->baseline_count + 1, sizeof(*job->baselines));
	job->baselines[job->baseline_count++] = side;
	if (is_child || asked.no_children)
		return 0;
	for (uint32_t i = 0; i < side.profile->other_count && rc == 0; i++) {
		char *other = path_of_other(path, &side.profile->others[i]);

		rc = add_baseline(job, other, true, err);
		free(other);
	}
	return rc;
}

/* No budget is known to be kept in a file that cannot be read. */
static void set_unreadable(struct seep_checked_file *file, const struct seep_budgets *budgets,
			   const struct seep_error *err)
{
	for (size_t i = 0; i < budgets->count; i++)
		file->outcomes[i] = (struct seep_budget_outcome){
			.budget = &budgets->items[i],
			.result = SEEP_BUDGET_NOT_KNOWN,
			.code = "unreadable",
			.reason = seep_xstrdup(err->text),
		};
}

static void check_budgets(struct job *job, struct seep_checked_file *file)
{
	bool all_kept = true;

	job->plan.baseline = job->plan.has_baseline ? baseline_for(job, file->name) : NULL;
	for (size_t i = 0; i < job->budgets.count; i++) {
		file->outcomes[i] = seep_budget_check(&job->budgets.items[i], &file->side,
						      &job->plan);
		all_kept &= file->outcomes[i].result != SEEP_BUDGET_BROKEN;
	}
	/* Only call stacks of broken ones are shown, and a run may have many processes. */
	if (all_kept)
		side_done(&file->side);
}

static void check_file(struct job *job, const char *path, bool is_child)
{
	struct seep_check *check = &job->check;
	struct seep_checked_file *file;
	struct seep_error err = { 0 };
	char **others = NULL;
	uint32_t count = 0;

	check->files = seep_xgrow(check->files, &check->capacity, check->count + 1,
				  sizeof(*check->files));
	file = &check->files[check->count++];
	*file = (struct seep_checked_file){
		.path = seep_xstrdup(path),
		.outcomes = seep_xcalloc(job->budgets.count, sizeof(*file->outcomes)),
	};
	if (side_load(&file->side, path, &job->leak_plan, &err) < 0) {
		file->name = seep_xstrdup("");
		set_unreadable(file, &job->budgets, &err);
		return;
	}
	file->name = seep_xstrdup(program_of(file->side.profile));
	file->pid = file->side.profile->process.pid;
	if (!is_child && !asked.no_children) {
		count = file->side.profile->other_count;
		others = seep_xcalloc(count, sizeof(*others));
		for (uint32_t i = 0; i < count; i++)
			others[i] = path_of_other(path, &file->side.profile->others[i]);
	}
	job->plan.is_child = is_child;
	check_budgets(job, file);
	for (uint32_t i = 0; i < count; i++) {
		check_file(job, others[i], true);
		free(others[i]);
	}
	free(others);
}

static int prepare(struct job *job, struct seep_error *err)
{
	struct seep_view_options view = { 0 };
	int rc = seep_leak_options_read(&asked.leaks, &job->leak_plan, &view, err);

	job->plan.leak_kinds = view.leak_kinds ? view.leak_kinds : SEEP_LEAK_KINDS;
	job->plan.alone = asked.no_children;
	job->plan.has_baseline = asked.baselines.count > 0;
	job->check = (struct seep_check){
		.budgets = &job->budgets,
		.top = (uint32_t)asked.top_count,
		.full = asked.full,
		.allowed = asked.allow_unknown,
	};
	if (rc == 0)
		rc = read_budgets(&job->budgets, err);
	for (size_t i = 0; i < job->budgets.count && rc == 0; i++)
		if (job->budgets.items[i].is_relative && !job->plan.has_baseline)
			rc = seep_fail(err, SEEP_EUSAGE, "'%s' needs a --baseline",
				       job->budgets.items[i].text);
	if (rc == 0)
		rc = seep_source_root_find(&job->check.root, asked.source_root, err);
	for (size_t i = 0; i < asked.baselines.count && rc == 0; i++)
		rc = add_baseline(job, asked.baselines.items[i], false, err);
	return rc;
}

static void job_done(struct job *job)
{
	for (size_t i = 0; i < job->check.count; i++) {
		struct seep_checked_file *file = &job->check.files[i];

		for (size_t k = 0; k < job->budgets.count; k++)
			seep_budget_outcome_done(&file->outcomes[k]);
		side_done(&file->side);
		free(file->outcomes);
		free(file->name);
		free(file->path);
	}
	free(job->check.files);
	for (size_t i = 0; i < job->baseline_count; i++)
		side_done(&job->baselines[i]);
	free(job->baselines);
	seep_budget_known_done(&job->plan.known);
	seep_source_root_done(&job->check.root);
	seep_budgets_done(&job->budgets);
}

static void write_json(FILE *out, const void *check, bool strings)
{
	seep_check_json(out, check, strings);
}

static void write_junit(FILE *out, const void *check, bool strings)
{
	(void)strings;
	seep_check_junit(out, check);
}

static void write_sarif(FILE *out, const void *check, bool strings)
{
	(void)strings;
	seep_check_sarif(out, check);
}

/* A command in a name would be one of the workflow's: until the token is said again none is. */
static void show_to_github(const struct seep_printer *printer, const struct seep_check *check)
{
	uint64_t token[2] = { 0 };

	if (getrandom(token, sizeof(token), 0) != sizeof(token))
		token[0] = (uint64_t)getpid();
	printf("::stop-commands::seep%016" PRIx64 "%016" PRIx64 "\n", token[0], token[1]);
	seep_check_text(printer, check);
	printf("::seep%016" PRIx64 "%016" PRIx64 "::\n", token[0], token[1]);
	seep_check_github(stdout, check);
}

static int add_summary(const struct seep_check *check, struct seep_error *err)
{
	const char *path = getenv("GITHUB_STEP_SUMMARY");
	FILE *out;

	if (!path || !*path)
		return 0;
	out = fopen(path, "ae");
	if (!out)
		return seep_fail_errno(err, errno, "%s", path);
	seep_check_markdown(out, check);
	return fclose(out) == 0 ? 0 : seep_fail_errno(err, errno, "%s", path);
}

static int check_outputs(struct seep_error *err)
{
	const char *const outputs[] = { asked.json, asked.junit, asked.sarif };
	int on_stdout = asked.github;
	int rc = 0;

	for (size_t i = 0; i < sizeof(outputs) / sizeof(outputs[0]) && rc == 0; i++) {
		on_stdout += outputs[i] && !seep_json_is_file(outputs[i]);
		rc = seep_json_check(outputs[i], err);
	}
	if (rc == 0 && on_stdout > 1)
		rc = seep_fail(
			err, SEEP_EUSAGE,
			"only one of --json, --junit, --sarif and --github can be on standard "
			"output");
	return rc;
}

static int show(const struct seep_check *check, struct seep_error *err)
{
	const struct seep_printer printer = seep_printer_for(stdout, 0);
	const struct {
		const char *where;
		void (*write)(FILE *out, const void *what, bool strings);
	} outputs[] = {
		{ asked.json, write_json },
		{ asked.junit, write_junit },
		{ asked.sarif, write_sarif },
	};
	bool is_taken = false;
	int rc = 0;

	for (size_t i = 0; i < sizeof(outputs) / sizeof(outputs[0]) && rc == 0; i++) {
		if (!outputs[i].where)
			continue;
		is_taken |= !seep_json_is_file(outputs[i].where);
		rc = seep_json_write(outputs[i].where, outputs[i].write, check, err);
	}
	if (asked.github)
		show_to_github(&printer, check);
	else if (!is_taken)
		seep_check_text(&printer, check);
	return rc == 0 && asked.github ? add_summary(check, err) : rc;
}

int cmd_check(char **operands)
{
	static const int statuses[SEEP_BUDGET_RESULT_COUNT] = {
		[SEEP_BUDGET_KEPT] = SEEP_EXIT_OK,
		[SEEP_BUDGET_BROKEN] = SEEP_EXIT_FOUND,
		[SEEP_BUDGET_NOT_KNOWN] = SEEP_EXIT_FAILURE,
	};
	struct seep_error err = { 0 };
	struct job job = { 0 };
	int status;
	int rc;

	rc = check_outputs(&err);
	if (rc == 0)
		rc = prepare(&job, &err);
	for (size_t i = 0; operands[i] && rc == 0; i++)
		check_file(&job, operands[i], false);
	if (rc == 0)
		rc = show(&job.check, &err);
	status = rc == 0 ? statuses[seep_check_all(&job.check)] : seep_complain("check", &err);
	job_done(&job);
	return status;
}
