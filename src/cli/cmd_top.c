/* SPDX-License-Identifier: MIT */
/* "seep top": watch running processes. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "analysis/live.h"
#include "base/clock.h"
#include "base/path.h"
#include "base/procfs.h"
#include "base/terminal.h"
#include "base/units.h"
#include "base/work.h"
#include "base/xalloc.h"
#include "cli/command.h"
#include "cli/complain.h"
#include "cli/keep_options.h"
#include "cli/on_growth.h"
#include "cli/symbol_options.h"
#include "cli/top_find.h"
#include "profile/context_hash.h"
#include "profile/process_life.h"
#include "profile/symbolise.h"
#include "recorder/ledger_control.h"
#include "recorder/leak_check.h"
#include "report/report.h"
#include "tui/tui.h"

enum { TOP_MAX = 100000, WAIT_STEP_NS = 100 * 1000 * 1000 };

static struct {
	bool once;
	const char *json;
	bool csv;
	uint64_t interval_ns;
	uint64_t for_ns;
	const char *wait;
	int sort;
	uint64_t top;
	uint64_t growth_after_ns;
	const char *on_growth;
	uint64_t growth_exitcode;
	struct seep_within_option_values within;
	struct seep_option_list scopes;
	struct seep_symbol_option_values symbols;
} asked = {
	.interval_ns = SEEP_NS_PER_S,
	.top = 20,
};

static const struct seep_option options[] = {
	SEEP_OPTION("once", 0, FLAG, NULL, asked.once,
		    "Print one table of what changed in an interval, instead of screens"),
	SEEP_OPTION("json", 0, OPTIONAL, "strings", asked.json,
		    "With --once: print JSON; \"strings\": large numbers as strings",
		    .choices = seep_json_forms),
	SEEP_OPTION("csv", 0, FLAG, NULL, asked.csv,
		    "Print a line of CSV for each stack and interval, instead of screens"),
	SEEP_OPTION("interval", 'i', DURATION, "T", asked.interval_ns,
		    "Read the process every T (1s)", .min = 10000000),
	SEEP_OPTION("for", 0, DURATION, "T", asked.for_ns, "End after T", .min = 1),
	SEEP_OPTION("wait", 0, TEXT, "NAME", asked.wait,
		    "Wait until a process that runs the program NAME is recorded"),
	SEEP_OPTION("sort", 0, CHOICE, "KEY", asked.sort,
		    "Order by live, change, allocs, growth, age or blocks (live)",
		    .choices = seep_live_sort_names),
	SEEP_OPTION("top", 'n', COUNT, "N", asked.top,
		    "Show the N first stacks; screens have as many as fit (20)", .min = 1,
		    .max = TOP_MAX),
	SEEP_WITHIN_OPTIONS(asked.within, "Show"),
	SEEP_SCOPE_OPTION(asked.scopes, "Show"),
	SEEP_OPTION("growth-after", 0, DURATION, "T", asked.growth_after_ns,
		    "Call a stack GROWING when it grew for T (as its recorder; else 60s)",
		    .min = 1000000),
	SEEP_OPTION("on-growth", 0, TEXT, "CMD", asked.on_growth,
		    "Run CMD by /bin/sh once for each stack that becomes GROWING"),
	SEEP_OPTION("growth-exitcode", 0, COUNT, "N", asked.growth_exitcode,
		    "End with status N where anything is GROWING in the end", .min = 1, .max = 255),
	SEEP_SYMBOL_OPTIONS(asked.symbols),
};

const struct seep_option_table cmd_top_options = {
	SEEP_OPTIONS(options),
	.max_operands = 1,
	.details =
		"Without an operand: the only process that is recorded. Its children are watched\n"
		"with it. The process is not stopped or slowed: seep reads its ledger. If PID is\n"
		"not recorded, seep asks whether to attach to it, as \"seep attach PID\" does.\n"
		"\n"
		"CMD finds what it is about in its environment: SEEP_PID, SEEP_EXE,\n"
		"SEEP_FUNCTION, SEEP_FILE, SEEP_LINE, SEEP_CALLERS, SEEP_GROWN_BYTES,\n"
		"SEEP_BYTES_PER_HOUR, SEEP_EVIDENCE and SEEP_HASH. Names come from the program:\n"
		"quote them (\"$SEEP_FUNCTION\").\n",
};

static volatile sig_atomic_t stopped;

static void stop(int signal_number)
{
	stopped = signal_number;
	seep_work_interrupt();
}

static void watch_signals(void)
{
	static const int signals[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };
	const struct sigaction action = { .sa_handler = stop };
	struct sigaction old;

	/* What nohup and the like ignore stays ignored. */
	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		if (sigaction(signals[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN)
			(void)sigaction(signals[i], &action, NULL);
}

/* Each process that is watched takes a descriptor. */
static void raise_descriptors(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
		return;
	limit.rlim_cur = limit.rlim_max;
	(void)setrlimit(RLIMIT_NOFILE, &limit);
}

/* When the step behind @at_ns ends. Who was stopped for a while makes up for nothing. */
static uint64_t next_ns(uint64_t at_ns, uint64_t step_ns)
{
	const uint64_t now_ns = seep_monotonic_ns();

	return (now_ns > at_ns + step_ns ? now_ns : at_ns) + step_ns;
}

static void sleep_until(uint64_t at_ns)
{
	const struct timespec until = { .tv_sec = (time_t)(at_ns / SEEP_NS_PER_S),
					.tv_nsec = (long)(at_ns % SEEP_NS_PER_S) };

	while (!stopped && clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR)
		;
}

struct watching {
	struct seep_top_find find;
	struct seep_on_growth on_growth;
	struct seep_symbols *symbols;
	struct seep_live *live;
	struct seep_live_line *lines;
	uint32_t line_count;
};

static void grown(void *user, struct seep_live_process *process,
		  const struct seep_growth_list *list)
{
	struct watching *watching = user;

	seep_live_name(watching->live, process);
	seep_profile_hash_contexts(process->profile);
	seep_on_growth_add(&watching->on_growth, process->sites, list);
}

static void find_more(void *user, struct seep_live *live)
{
	struct watching *watching = user;

	seep_top_find_more(&watching->find, live);
}

static void poll_commands(void *user)
{
	struct watching *watching = user;

	seep_on_growth_poll(&watching->on_growth);
}

static int begin(const struct seep_ledger_operand *found, struct watching *watching,
		 struct seep_error *err)
{
	struct seep_symbols_options wanted;
	int r = seep_symbol_options_read(&asked.symbols, &wanted, err);

	if (r == 0)
		r = seep_top_find_begin(found, &watching->find, err);
	if (r == 0)
		r = seep_symbols_new(&wanted, &watching->symbols, err);
	if (r < 0)
		return r;
	watching->on_growth.command = asked.on_growth;
	watching->live = seep_live_new(&(struct seep_live_options){
		.growth_after_ns = asked.growth_after_ns,
		.symbols = watching->symbols,
		.within = seep_within_options_read(&asked.within),
		.scopes = { asked.scopes.items, asked.scopes.count },
		.find = find_more,
		.grown = asked.on_growth ? grown : NULL,
		.user = watching,
	});
	watching->lines = seep_xcalloc(asked.top, sizeof(*watching->lines));
	return seep_live_add(watching->live, watching->find.path, err);
}

static void done(struct watching *watching)
{
	seep_on_growth_done(&watching->on_growth, "top");
	if (watching->find.refused_count > 0)
		seep_complainf("top", "%zu processes of the tree were not watched: %s",
			       watching->find.refused_count, watching->find.refusal.text);
	seep_live_free(watching->live);
	seep_symbols_free(watching->symbols);
	seep_top_find_done(&watching->find);
	free(watching->lines);
}

static void choose_lines(struct watching *watching)
{
	watching->line_count = seep_live_top(watching->live, (enum seep_live_sort)asked.sort, "",
					     (uint32_t)asked.top, watching->lines);
}

static void read_again(struct watching *watching, uint64_t now_ns)
{
	seep_live_refresh(watching->live, now_ns);
	if (watching->live->news)
		seep_complainf("top", "%s", watching->live->news);
}

/* A table needs two readings; without --for it is the second one's. */
static void watch(struct watching *watching)
{
	const uint64_t begun_ns = seep_monotonic_ns();
	uint64_t at_ns = begun_ns;

	if (asked.csv)
		seep_report_live_csv_head(stdout);
	read_again(watching, at_ns);
	while (!stopped && seep_live_runs(watching->live)) {
		at_ns = next_ns(at_ns, asked.interval_ns);
		if (asked.for_ns && at_ns > begun_ns + asked.for_ns)
			at_ns = begun_ns + asked.for_ns;
		sleep_until(at_ns);
		/* A table says of how long it is; a row is of an interval. */
		if (stopped && asked.csv)
			break;
		read_again(watching, seep_monotonic_ns());
		poll_commands(watching);
		if (asked.csv) {
			choose_lines(watching);
			seep_report_live_csv(stdout, watching->lines, watching->line_count);
		}
		if (ferror(stdout) || (asked.once && !asked.for_ns) ||
		    (asked.for_ns && seep_monotonic_ns() >= begun_ns + asked.for_ns))
			break;
	}
}

static void print(struct watching *watching)
{
	const struct seep_printer printer = seep_printer_for(stdout, 0);

	if (!asked.once)
		return;
	choose_lines(watching);
	if (asked.json)
		seep_report_live_json(stdout, watching->live, watching->lines, watching->line_count,
				      *asked.json != '\0');
	else
		seep_report_live(&printer, watching->live, watching->lines, watching->line_count,
				 (enum seep_live_sort)asked.sort);
}

/*
 * What is watched, for more than a look: it has to run, under its name, what the ledger is about.
 */
static int open_again(const struct seep_live_process *process, enum seep_ledger_access access,
		      struct seep_ledger *ret, uint32_t *ret_pid, struct seep_error *err)
{
	enum seep_process_life life;
	int r;

	if (seep_ledger_live_is_replaced(process->ledger))
		return seep_fail(err, SEEP_ENOTFOUND, "the ledger's file was replaced");
	r = seep_ledger_open(AT_FDCWD, process->path, access, ret, err);
	if (r < 0)
		return r;
	life = seep_process_life(ret, ret_pid);
	if (life == SEEP_PROCESS_RUNNING)
		return 0;
	seep_ledger_close(ret);
	return seep_fail(err, SEEP_ENOTFOUND, "the process %s", seep_process_life_text(life));
}

static int mark(void *user, struct seep_live_process *process, const char *name,
		struct seep_error *err)
{
	SEEP_RELEASED(seep_ledger_close) struct seep_ledger ledger = { .fd = -1 };
	int r = *name ? seep_mark_name_check(name, err) : 0;

	(void)user;
	if (r == 0)
		r = open_again(process, SEEP_LEDGER_WRITE, &ledger, NULL, err);
	if (r < 0)
		return r;
	return seep_ledger_mark(&ledger, *name ? name : NULL, seep_monotonic_ns(), NULL, err);
}

static int name(void *user, struct seep_profile *profile, struct seep_error *err)
{
	const struct watching *watching = user;

	return seep_profile_symbolise(profile, watching->symbols, false, NULL, err);
}

/* As "seep leaks PID" without options. */
static int check_leaks(void *user, struct seep_live_process *process,
		       struct seep_profile **ret_profile, struct seep_error *err)
{
	const struct seep_leak_check_plan plan = { .name = name, .user = user };
	SEEP_RELEASED(seep_ledger_close) struct seep_ledger ledger = { .fd = -1 };
	uint32_t pid = 0;
	int r = open_again(process, SEEP_LEDGER_READ, &ledger, &pid, err);

	if (r == 0)
		r = seep_leak_check_now(&ledger, pid, SEEP_SCAN_LIVE, &plan, NULL, ret_profile,
					err);
	return r < 0 ? r : seep_within_options_apply(&asked.within, *ret_profile, false, err);
}

static int show(struct watching *watching, struct seep_error *err)
{
	const struct seep_tui_options how = {
		.interval_ns = asked.interval_ns,
		.for_ns = asked.for_ns,
		.sort = (enum seep_live_sort)asked.sort,
		.stopped = &stopped,
		.actions = { .poll = poll_commands,
			     .mark = mark,
			     .check_leaks = check_leaks,
			     .user = watching },
	};

	watching->on_growth.quiet = true;
	return seep_tui_run(watching->live, &how, err);
}

static int check_options(char **operands, struct seep_error *err)
{
	if (asked.json && !asked.once)
		return seep_fail(err, SEEP_EUSAGE, "--json needs --once");
	if (asked.once && asked.csv)
		return seep_fail(err, SEEP_EUSAGE, "--once and --csv exclude each other");
	if (asked.wait && !*asked.wait)
		return seep_fail(err, SEEP_EUSAGE, "--wait needs the name of a program");
	if (asked.wait && operands[0])
		return seep_fail(err, SEEP_EUSAGE, "--wait %s names the process already",
				 asked.wait);
	return asked.once || asked.csv ? 0 : seep_tui_check(err);
}

/* Does one run by now? */
static int find_named(const char *name, struct seep_ledger_operand *ret, struct seep_error *err)
{
	int r;

	seep_ledger_operand_done(ret);
	r = seep_ledger_operand_find(name, ret, err);
	return r == -SEEP_ENOTFOUND || r == -SEEP_EEXIST ? 0 : r;
}

/* @ret: the process that was waited for; it does not run if that was interrupted. */
static int wait_for(const char *name, struct seep_ledger_operand *ret, struct seep_error *err)
{
	const uint64_t begun_ns = seep_monotonic_ns();
	uint64_t at_ns = begun_ns;
	int r = find_named(name, ret, err);

	if (r == 0 && !ret->runs)
		seep_complainf("top", "waiting for a process that runs %s", name);
	while (r == 0 && !ret->runs && !stopped) {
		sleep_until(at_ns = next_ns(at_ns, WAIT_STEP_NS));
		r = find_named(name, ret, err);
		if (r == 0 && !ret->runs && asked.for_ns && at_ns > begun_ns + asked.for_ns)
			r = seep_fail(err, SEEP_ENOTFOUND,
				      "no process that runs %s was recorded in %s", name,
				      seep_duration_text(asked.for_ns).text);
	}
	return r;
}

/* It runs, is not recorded, and whoever sits at the terminal says that it shall be. */
static bool is_to_be_attached(const char *operand)
{
	SEEP_FREED char *exe = NULL, *name = NULL;
	char answer[16] = "";
	uint64_t pid;

	if (asked.once || asked.csv || !operand ||
	    seep_parse_count(operand, INT32_MAX, &pid, NULL) < 0)
		return false;
	exe = seep_procfs_exe((uint32_t)pid);
	if (!exe)
		return false;
	name = seep_escape_dup(seep_path_base(exe));
	(void)printf("%s (pid %" PRIu64 ") is not recorded. Attach? [y/N] ", name, pid);
	(void)fflush(stdout);
	if (!fgets(answer, sizeof(answer), stdin))
		(void)putchar('\n');
	return *answer == 'y' || *answer == 'Y';
}

/* Returns the status of an attach that did not succeed, too. */
static int find(char **operands, struct seep_ledger_operand *found, bool *ret_attached,
		struct seep_error *err)
{
	int r = seep_ledger_operand_find(operands[0], found, err);

	/* Its ledger may be that of another which had this number. */
	if (r != -SEEP_ENOTFOUND &&
	    (r < 0 || !found->entry || found->runs || found->entry->state == SEEP_CENSUS_ELSEWHERE))
		return r;
	if (!is_to_be_attached(operands[0]))
		return r;
	r = cmd_attach(operands, err);
	if (r != 0)
		return r;
	*ret_attached = true;
	seep_ledger_operand_done(found);
	return seep_ledger_operand_find(operands[0], found, err);
}

/* What was interrupted has not passed. */
static int end(int status)
{
	if (asked.growth_exitcode && stopped && status == SEEP_EXIT_OK) {
		(void)signal(stopped, SIG_DFL);
		(void)raise(stopped);
	}
	return status;
}

int cmd_top(char **operands, struct seep_error *err)
{
	struct watching watching = { 0 };
	SEEP_RELEASED(seep_ledger_operand_done) struct seep_ledger_operand found = { 0 };
	bool attached = false;
	int r = check_options(operands, err);

	watch_signals();
	raise_descriptors();
	if (r == 0)
		r = asked.wait ? wait_for(asked.wait, &found, err)
			       : find(operands, &found, &attached, err);
	if (r == 0 && asked.wait && !found.runs)
		return end(SEEP_EXIT_OK);
	if (r == 0)
		r = begin(&found, &watching, err);
	if (r == 0 && !asked.once && !asked.csv)
		r = show(&watching, err);
	else if (r == 0)
		watch(&watching);
	if (r == 0)
		print(&watching);
	if (r == 0 && asked.growth_exitcode && seep_live_has_grown(watching.live))
		r = (int)asked.growth_exitcode;
	if (attached && (!watching.live || seep_live_runs(watching.live)))
		seep_complainf("top", "%s is still recorded; \"seep detach %s\" ends that",
			       operands[0], operands[0]);
	done(&watching);
	return end(r);
}
