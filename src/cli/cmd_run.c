/* SPDX-License-Identifier: MIT */
/* "seep run": start a program with the library preloaded, record it, end as it ended. */
#include <errno.h>
#include <inttypes.h>
#include <regex.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "analysis/growth.h"
#include "base/path.h"
#include "base/progress.h"
#include "base/strbuf.h"
#include "base/units.h"
#include "base/xalloc.h"
#include "cli/command.h"
#include "cli/complain.h"
#include "cli/on_growth.h"
#include "cli/output_file.h"
#include "cli/leak_options.h"
#include "cli/memory_options.h"
#include "cli/record_options.h"
#include "cli/run_outcome.h"
#include "cli/symbol_options.h"
#include "core/stack_hash.h"
#include "profile/verdict.h"
#include "recorder/census.h"
#include "recorder/ledgerdir.h"
#include "recorder/outname.h"
#include "recorder/recorder.h"
#include "target/preflight.h"
#include "target/spawn.h"

enum { OPTIONS_MAX_BYTES = 4095, SNAPSHOT_KEEP_MAX = 100000 };

/* Much more often, and nothing else would be done. */
#define SNAPSHOT_EVERY_MIN_NS 10000000ull

#define GROWTH_AFTER_LEAST_NS 100000000ull

static struct {
	const char *output;
	bool force;
	const char *follow;
	bool no_follow;
	struct seep_record_option_values record;
	uint64_t verify;
	const char *stop_at;
	uint64_t snapshot_every_ns;
	uint64_t snapshot_keep;
	bool quiet;
	const char *json;
	bool no_leak_check;
	bool trace_exit;
	struct seep_memory_option_values memory;
	uint64_t growth_after_ns;
	uint64_t growth_exitcode;
	const char *on_growth;
	struct seep_leak_option_values leaks;
	struct seep_symbol_option_values symbols;
} asked = { .snapshot_keep = 10, .growth_after_ns = SEEP_GROWTH_AFTER_NS };

static const struct seep_option options[] = {
	SEEP_OPTION("output", 'o', TEXT, "FILE", asked.output,
		    "Write the recording to FILE (default: ./%e.%p.seep)"),
	SEEP_OPTION("force", 'f', FLAG, NULL, asked.force,
		    "Replace FILE, and the recordings in FILE.d, if they exist"),
	SEEP_OPTION("follow", 0, TEXT, "REGEX", asked.follow,
		    "Record only children whose path matches REGEX"),
	SEEP_OPTION("no-follow", 0, FLAG, NULL, asked.no_follow, "Record no children"),
	SEEP_RECORD_OPTIONS(asked.record),
	SEEP_OPTION("verify", 0, COUNT, "N", asked.verify,
		    "Compare every Nth stack with libgcc's unwinder (default: 0, none)",
		    .max = UINT32_MAX),
	SEEP_OPTION("break", 0, TEXT, "HASH[:N]", asked.stop_at,
		    "Raise SIGTRAP at the Nth allocation (1) of one call stack, for a debugger; "
		    "\"seep report --raw\" says its HASH, after \"break\""),
	SEEP_OPTION("snapshot-every", 0, DURATION, "T", asked.snapshot_every_ns,
		    "Save a recording of each running process every T, as FILE.NNN.seep",
		    .min = SNAPSHOT_EVERY_MIN_NS),
	SEEP_OPTION("snapshot-keep", 0, COUNT, "N", asked.snapshot_keep,
		    "Keep the N newest snapshots of each process (default: 10)", .min = 1,
		    .max = SNAPSHOT_KEEP_MAX),
	SEEP_OPTION("no-leak-check", 0, FLAG, NULL, asked.no_leak_check,
		    "Do not look for leaks when a process ends"),
	SEEP_OPTION("trace-exit", 0, FLAG, NULL, asked.trace_exit,
		    "Look for leaks, too, when a signal kills a process; not with gdb or strace"),
	SEEP_MEMORY_OPTIONS(asked.memory),
	SEEP_LEAK_OPTIONS(asked.leaks),
	SEEP_LEAK_SCAN_OPTIONS(asked.leaks),
	SEEP_OPTION("growth-after", 0, DURATION, "T", asked.growth_after_ns,
		    "Call a stack GROWING when it grew for T (60s); 0: do not look"),
	SEEP_OPTION("on-growth", 0, TEXT, "CMD", asked.on_growth,
		    "Run CMD by /bin/sh once for each stack that becomes GROWING, as \"seep top\""),
	SEEP_OPTION("growth-exitcode", 0, COUNT, "N", asked.growth_exitcode,
		    "End with N if a stack was GROWING", .max = 255),
	SEEP_OPTION("quiet", 'q', FLAG, NULL, asked.quiet, "Print no summary"),
	SEEP_OPTION(
		"json", 0, OPTIONAL, "JSON", asked.json,
		"After the program has ended, write the report as JSON to the file JSON, else to "
		"standard output; \"strings\": to standard output, large numbers as strings"),
	SEEP_SYMBOL_OPTIONS(asked.symbols),
};

const struct seep_option_table cmd_run_options = {
	SEEP_OPTIONS(options),
	.min_operands = 1,
	.max_operands = SIZE_MAX,
	.operand_ends_options = true,
	.details =
		"In FILE, %p is the pid, %e the program, %h the host, %% a percent sign.\n"
		"Recordings of children are in the folder FILE.d, as PID.PROGRAM.seep. A fork\n"
		"without exec and with fewer than 1,000 allocations has no recording; its figures\n"
		"are summed in its parent's. If the program calls exec, FILE is about the last\n"
		"program; the earlier ones are in FILE.d. Snapshots of FILE.seep are\n"
		"FILE.NNN.seep.\n"
		"\n"
		"GLOB is compared with the file name of the module that calls malloc or operator\n"
		"new: a library such as \"libfoo.so*\", or the program. Several (--module again, or\n"
		"commas) are alternatives.\n"
		"\n"
		"seep ends with the program's exit status, or by the same signal. 125: seep could\n"
		"not start the program; 126: it cannot be executed; 127: it does not exist. With\n"
		"--error-exitcode: N if a process with a recording has leaks or heap errors, and\n"
		"with --growth-exitcode if a stack of one grew, unless a signal killed the\n"
		"program.\n"
		"Children that still run one second after the program's end go on; \"seep ps\"\n"
		"lists them.\n",
};

/* All that has to be ready before the program starts. */
struct run {
	struct seep_program program;
	char *library;
	struct seep_ledger_place place;
	regex_t follow_exe;
	char *runtime_options;
	char *output; /* expanded */
	struct seep_symbols_options symbols;
	struct seep_leak_check_plan leak_check;
	uint32_t leak_kinds;		/* that --error-exitcode goes by */
	uint64_t stop_nth;		/* of --break */
	struct seep_recorder_plan plan; /* borrows from the others */
	struct seep_spawn spawn;
};

static int preflight_status(const struct seep_error *err)
{
	switch (err->code) {
	case SEEP_ENOTFOUND:
		return SEEP_EXIT_NO_PROGRAM;
	case SEEP_ESYS:
	case SEEP_ECORRUPT:
		return SEEP_EXIT_NOT_EXECUTABLE;
	default:
		return SEEP_EXIT_CANNOT_START;
	}
}

static int complain_cannot_start(const struct seep_error *err)
{
	(void)seep_complain("run", err);
	return err->code == SEEP_EUSAGE ? SEEP_EXIT_USAGE : SEEP_EXIT_CANNOT_START;
}

/* What the options of the command line say to the runtime. */
static int runtime_options(char **ret_text, struct seep_error *err)
{
	const size_t held = getenv("SEEP_OPTIONS") ? strlen(getenv("SEEP_OPTIONS")) : 0;
	/* One of the two separators is cut off again. */
	SEEP_STRBUF(text, held < OPTIONS_MAX_BYTES ? OPTIONS_MAX_BYTES - held : 0);
	int rc;

	rc = seep_record_options_add(&asked.record, &text, err);
	if (rc < 0)
		return rc;
	if (asked.verify)
		seep_strbuf_addf(&text, ":verify=%" PRIu64, asked.verify);
	rc = seep_memory_options_add(&asked.memory,
				     asked.leaks.error_exitcode &&
					     asked.record.mode != SEEP_RECORD_OFF &&
					     !asked.no_leak_check,
				     &text, err);
	/* They may be killed as soon as they have started. */
	if (asked.trace_exit)
		seep_strbuf_adds(&text, ":start_wait=1");
	/* Each that matches has a recording, however little it allocates. */
	if (asked.follow)
		seep_strbuf_adds(&text, ":forks=1");
	if (rc == 0 && text.overflowed)
		rc = seep_fail(
			err, SEEP_EUSAGE,
			"the values of --module are too long: all options together have room "
			"for %d bytes",
			OPTIONS_MAX_BYTES);
	if (rc == 0)
		*ret_text = seep_xstrdup(text.length ? text.text + 1 : "");
	return rc;
}

static int check_leak_options(struct run *run, struct seep_error *err)
{
	struct seep_view_options view;
	int rc = seep_leak_options_read(&asked.leaks, &run->leak_check, &view, err);

	if (rc < 0)
		return rc;
	run->leak_kinds = view.leak_kinds ? view.leak_kinds : SEEP_LEAK_KINDS;
	if (asked.no_leak_check && (asked.trace_exit || asked.leaks.why))
		return seep_fail(err, SEEP_EUSAGE, "--no-leak-check cannot be used with --%s",
				 asked.trace_exit ? "trace-exit" : "why");
	if (run->leak_check.why)
		return seep_fail(err, SEEP_EUSAGE,
				 "--why=ADDRESS is for \"seep leaks\": before the program runs "
				 "its blocks have no addresses");
	run->plan.suppress = &run->leak_check;
	run->leak_check.symbols = &run->symbols;
	run->leak_check.report = seep_leak_report_now;
	run->leak_check.trace_exit = asked.trace_exit;
	/* Each that matches has a recording, however little it allocates. */
	run->leak_check.small_forks = asked.follow != NULL;
	if (!asked.no_leak_check && asked.record.mode != SEEP_RECORD_OFF)
		run->plan.leak_check = &run->leak_check;
	return 0;
}

/* Of the program's environment. */
static int set_stop(struct run *run, const char *text, struct seep_error *err)
{
	if (!core_stack_hash_read(text, &run->plan.stop_hash, &run->stop_nth))
		return seep_fail(
			err, SEEP_EUSAGE,
			"--break: '%.100s' must be HASH or HASH:N; \"seep report --raw\" says "
			"the 16 digits of HASH after \"break\"",
			text);
	(void)setenv("SEEP_BREAK", text, 1);
	return 0;
}

static int check_options(struct run *run, struct seep_error *err)
{
	char reason[256];
	int problem;
	int rc = seep_symbol_options_read(&asked.symbols, &run->symbols, err);

	if (rc == 0)
		rc = check_leak_options(run, err);
	if (rc == 0 && asked.stop_at)
		rc = set_stop(run, asked.stop_at, err);
	if (rc < 0)
		return rc;
	if (asked.growth_after_ns && asked.growth_after_ns < GROWTH_AFTER_LEAST_NS)
		return seep_fail(err, SEEP_EUSAGE, "--growth-after is below 100 ms");
	if ((asked.growth_exitcode || asked.on_growth) && !asked.growth_after_ns)
		return seep_fail(err, SEEP_EUSAGE, "--%s needs growth to be looked for",
				 asked.on_growth ? "on-growth" : "growth-exitcode");
	run->plan.growth_after_ns = asked.growth_after_ns;
	rc = runtime_options(&run->runtime_options, err);
	if (rc < 0 || !asked.follow)
		return rc;
	if (asked.no_follow)
		return seep_fail(err, SEEP_EUSAGE, "--follow and --no-follow exclude each other");
	problem = regcomp(&run->follow_exe, asked.follow, REG_EXTENDED | REG_NOSUB);
	if (problem != 0) {
		(void)regerror(problem, &run->follow_exe, reason, sizeof(reason));
		return seep_fail(err, SEEP_EUSAGE, "--follow: '%s' is not a regular expression: %s",
				 asked.follow, reason);
	}
	run->plan.follow_exe = &run->follow_exe;
	return 0;
}

/*
 * The name of the output before there is a pid to put into it: enough to find a wrong pattern or a
 * folder that cannot be written to.
 */
static int check_output(struct run *run, uint32_t pid, struct seep_error *err)
{
	char *path;
	int rc = seep_outname_expand(asked.output, run->program.name, pid, &path, err);

	if (rc == 0) {
		rc = seep_outname_check(path, asked.force, err);
		free(run->output);
		run->plan.output = run->output = path;
	}
	return rc;
}

/* The report would replace the recording, or stand where the folder of the children's is to be. */
static bool is_for_recordings(const char *json, const char *output)
{
	SEEP_FREED char *folder = seep_outname_folder(output);

	return seep_path_is_same(json, output) || seep_path_is_same(json, folder);
}

static int check_json(const struct run *run, struct seep_error *err)
{
	int rc;

	if (asked.json && strcmp(asked.json, "-") == 0)
		return seep_fail(err, SEEP_EUSAGE,
				 "--json=-: standard output belongs to the program; --json alone "
				 "writes there after it has ended");
	if (!seep_json_file(asked.json))
		return 0;
	if (is_for_recordings(asked.json, run->output))
		return seep_fail(err, SEEP_EEXIST,
				 "--json=%s is the name of the recording or of its folder",
				 asked.json);
	rc = seep_json_check(asked.json, err);
	return rc < 0 ? rc : seep_outname_check(asked.json, asked.force, err);
}

static int complain_output(const struct seep_error *err)
{
	int status = complain_cannot_start(err);

	if (err->code == SEEP_ESYS && !asked.output)
		seep_hint("-o FILE puts the recording into another folder");
	else if (err->code == SEEP_EUSAGE && asked.output && !*asked.output)
		seep_hint("without -o it is ./PROGRAM.PID.seep");
	return status;
}

static int prepare(struct run *run, const char *name, struct seep_error *err)
{
	int rc;

	if (check_options(run, err) < 0)
		return complain_cannot_start(err);
	if (seep_preflight(name, &run->program, err) < 0) {
		(void)seep_complain("run", err);
		return preflight_status(err);
	}
	if (check_output(run, 0, err) < 0 || check_json(run, err) < 0)
		return complain_output(err);
	rc = seep_runtime_find(&run->library, err);
	if (rc == 0)
		rc = seep_ledger_place_choose(asked.record.ledger_max, &run->place, err);
	if (rc == 0)
		rc = seep_recorder_session(&run->plan.session, err);
	if (rc < 0)
		return complain_cannot_start(err);
	run->plan.ledger_dir = run->place.path;
	run->plan.ledger_dir_fd = run->place.fd;
	if (run->place.note && !asked.quiet)
		seep_complainf("run", "%s", run->place.note);
	seep_census_tidy(run->place.fd);
	return SEEP_EXIT_OK;
}

static int fork_target(struct run *run, char **argv, struct seep_error *err)
{
	const struct seep_spawn_environment environment = {
		.library = run->library,
		.options = run->runtime_options,
		.directory = run->place.path,
		.session = run->plan.session,
	};
	int rc = seep_spawn_fork(run->program.path, argv, &environment, &run->spawn, err);

	if (rc < 0)
		return rc;
	rc = check_output(run, (uint32_t)run->spawn.pid, err);
	if (rc < 0)
		seep_spawn_abandon(&run->spawn);
	return rc;
}

/* Returns 0 with *@result filled, or the exit status when the program did not start. */
static int record(struct run *run, char **argv, struct seep_recorder_result *result,
		  struct seep_error *err)
{
	struct seep_recorder *recorder;
	int problem;

	if (fork_target(run, argv, err) < 0)
		return complain_cannot_start(err);
	if (seep_recorder_new(&run->plan, run->spawn.pid, &recorder, err) < 0) {
		seep_spawn_abandon(&run->spawn);
		return complain_cannot_start(err);
	}
	seep_spawn_release(&run->spawn, &problem);
	if (problem == 0)
		seep_recorder_run(recorder, result);
	if (!result->gave_up)
		seep_recorder_free(recorder);
	if (problem == 0)
		return 0;
	/* Although everything looked well. */
	seep_complainf("run", "cannot execute %s: %s", run->program.path, strerror(problem));
	return problem == ENOENT ? SEEP_EXIT_NO_PROGRAM : SEEP_EXIT_NOT_EXECUTABLE;
}

static void run_done(struct run *run)
{
	seep_program_done(&run->program);
	if (run->plan.follow_exe)
		regfree(&run->follow_exe);
	seep_ledger_place_done(&run->place);
	free(run->library);
	free(run->runtime_options);
	free(run->output);
}

static void say_still_writing(void)
{
	/* Perhaps nobody listens any more: the recordings are worth more than this line. */
	(void)signal(SIGPIPE, SIG_IGN);
	/* Where the terminal has shown the key, and perhaps progress. */
	if (isatty(STDERR_FILENO))
		(void)fputs("\r\033[K", stderr);
	seep_complainf("run", "still writing recordings; Ctrl-C again gives up and keeps the "
			      "ledgers");
}

static void tell_grown(void *user, struct seep_profile *profile,
		       const struct seep_growth_list *list)
{
	struct seep_sites *sites = list->news ? seep_sites_new(profile) : NULL;

	if (sites)
		seep_on_growth_add(user, sites, list);
	seep_sites_free(sites);
}

int cmd_run(char **operands, struct seep_error *err)
{
	struct seep_on_growth on_growth = { .command = asked.on_growth };
	struct run run = {
		.place.fd = -1,
		.plan = {
			.force = asked.force,
			.follow = !asked.no_follow,
			.no_argv = asked.record.no_argv,
			.snapshot_every_ns = asked.snapshot_every_ns,
			.snapshot_keep = (unsigned)asked.snapshot_keep,
			.symbols = &run.symbols,
			.quiet = asked.quiet,
			.on_first_signal = say_still_writing,
			.grown = asked.on_growth ? tell_grown : NULL,
			.turn = asked.on_growth ? seep_on_growth_poll : NULL,
			.user = &on_growth,
		},
	};
	struct seep_recorder_result result = { 0 };
	int wait_status;
	int status;

	seep_spawn_guard_stdio();
	/* The terminal is the program's: no lines of ours while it runs. */
	seep_progress_silence(true);
	status = prepare(&run, operands[0], err);
	if (status == SEEP_EXIT_OK)
		status = record(&run, operands, &result, err);
	if (status != SEEP_EXIT_OK) {
		run_done(&run);
		return status;
	}
	seep_on_growth_done(&on_growth, "run");
	/* A reader that has gone must not change how we end. */
	(void)signal(SIGPIPE, SIG_IGN);
	seep_run_outcome_print(&run.program, &run.plan, asked.json, &result);
	wait_status = result.wait_status;
	if (asked.leaks.error_exitcode && WIFEXITED(wait_status) &&
	    (result.has_findings || result.leak_verdicts & run.leak_kinds))
		wait_status = W_EXITCODE((int)asked.leaks.error_exitcode, 0);
	else if (asked.growth_exitcode && result.growing_count && WIFEXITED(wait_status))
		wait_status = W_EXITCODE((int)asked.growth_exitcode, 0);
	if (asked.growth_exitcode && !result.growing_count && result.profile &&
	    result.profile->growth_after_ns == 0)
		seep_complainf("run",
			       "growth was not judged: the program did not run for "
			       "--growth-after, %s",
			       seep_duration_text(asked.growth_after_ns).text);
	if (result.stop_allocs < run.stop_nth)
		seep_complainf("run",
			       "--break: no process that was recorded came to allocation %" PRIu64
			       " by that call stack; the most is %" PRIu64,
			       run.stop_nth, result.stop_allocs);
	/* The writer is still at work with what it borrows. */
	if (result.gave_up)
		seep_spawn_end_as(wait_status);
	seep_recorder_result_done(&result);
	run_done(&run);
	seep_spawn_end_as(wait_status);
}
