/* SPDX-License-Identifier: MIT */
/* "seep diff": what changed between two recordings, or is held since a mark. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "analysis/diff.h"
#include "analysis/keep.h"
#include "base/clock.h"
#include "base/path.h"
#include "base/strbuf.h"
#include "base/xalloc.h"
#include "cli/command.h"
#include "cli/complain.h"
#include "cli/keep_options.h"
#include "cli/ledger_operand.h"
#include "cli/output_file.h"
#include "cli/symbol_options.h"
#include "core/nearest.h"
#include "profile/process_life.h"
#include "recorder/ledger_control.h"
#include "report/report.h"
#include "target/block_list.h"

enum { TOP_MAX = 10000000, BLOCKS_DEFAULT = 20, ROUNDS_MAX = 100, MARKS_BYTES_MAX = 300 };

/* "lost" is not compared. */
static const char *const measures[] = { "live", "peak", "allocs", "temporary", NULL };

static struct {
	int by;
	uint64_t top_count;
	bool full;
	bool cycle;
	uint64_t round_count;
	uint64_t settle_ns;
	const char *blocks;
	const char *json;
	const char *html;
	struct seep_within_option_values within;
	struct seep_option_list scopes;
	struct seep_symbol_option_values symbols;
} asked;

static const struct seep_option options[] = {
	SEEP_OPTION("by", 'b', CHOICE, "KEY", asked.by,
		    "Compare live, peak, allocs or temporary (default: live)", .choices = measures),
	SEEP_OPTION("top", 'n', COUNT, "N", asked.top_count,
		    "Show the N largest changes (default: 10; all with --json)", .max = TOP_MAX),
	SEEP_OPTION("full", 0, FLAG, NULL, asked.full, "Show whole stacks and whole names"),
	SEEP_WITHIN_OPTIONS(asked.within, "Compare"),
	SEEP_SCOPE_OPTION(asked.scopes, "Compare"),
	SEEP_OPTION("blocks", 0, OPTIONAL, "N", asked.blocks,
		    "List addresses and sizes of N blocks of each stack, of a running process "
		    "(without N: 20)"),
	SEEP_OPTION("cycle", 0, FLAG, NULL, asked.cycle,
		    "Mark, wait for Enter or run COMMAND, mark again, and show what is held"),
	SEEP_OPTION("rounds", 0, COUNT, "N", asked.round_count,
		    "With --cycle: N times; show what held blocks of each (default: 1)", .min = 1,
		    .max = ROUNDS_MAX),
	SEEP_OPTION("settle", 0, DURATION, "T", asked.settle_ns,
		    "With --cycle: wait for T after each round (default: 0s)"),
	SEEP_JSON_OPTION(asked.json),
	SEEP_OPTION("html", 0, TEXT, "HTML", asked.html,
		    "Write a page to the file HTML, for a browser; it needs no other file"),
	SEEP_SYMBOL_OPTIONS(asked.symbols),
};

const struct seep_option_table cmd_diff_options = {
	SEEP_OPTIONS(options),
	.min_operands = 1,
	.max_operands = SIZE_MAX,
	.details =
		"  seep diff A B            two recordings, ledgers or running processes\n"
		"  seep diff A@M1 A@M2      allocated between two marks, and still alive\n"
		"  seep diff A@M1 [now]     allocated since a mark, and still alive\n"
		"  seep diff --cycle PID [-- COMMAND …]  while COMMAND ran, still alive\n"
		"\n"
		"Two recordings are joined by the functions of their call stacks, so builds with\n"
		"moved code match. \"seep mark\" sets marks; of several with one name the last one\n"
		"counts. The last @ separates, unless a file has the whole name. With --cycle the\n"
		"status is 2 if COMMAND fails.\n",
};

/* One operand. */
struct side {
	char *what;	  /* a file, a pid or a name */
	const char *mark; /* NULL none */
	struct seep_ledger_operand found;
};

static int side_find(struct side *side, const char *operand, struct seep_error *err)
{
	const char *at = access(operand, F_OK) == 0 ? NULL : strrchr(operand, '@');

	*side = (struct side){ .what = seep_xstrndup(operand, at ? (size_t)(at - operand)
								 : strlen(operand)) };
	if (at)
		side->mark = at + 1;
	if (!*side->what || (at && !*side->mark))
		return seep_fail(err, SEEP_EUSAGE, "\"%s\" lacks the %s the @", operand,
				 *side->what ? "mark after" : "file or process before");
	return seep_ledger_operand_find(side->what, &side->found, err);
}

static int load(const struct side *side, bool is_last, struct seep_profile **ret_profile,
		struct seep_error *err)
{
	int rc = seep_symbol_options_open(&asked.symbols, side->found.path, ret_profile, err);

	return rc < 0 ? rc : seep_within_options_apply(&asked.within, *ret_profile, is_last, err);
}

/* Leave out what was not asked for. A scope may be in one of the profiles only. */
static int keep_scopes(struct seep_profile *const *profiles, size_t count, struct seep_error *err)
{
	const struct seep_keep_globs scopes = { asked.scopes.items, asked.scopes.count };
	const struct seep_keep_globs none = { 0 };
	int rc = -SEEP_EUSAGE;

	if (scopes.count == 0)
		return 0;
	for (size_t i = 0; i < count; i++) {
		SEEP_RELEASED(seep_sites_free_at)
		struct seep_sites *sites = seep_sites_new(profiles[i]);

		if (rc < 0)
			rc = seep_keep_check(sites, &none, &none, &scopes, err);
		seep_keep(profiles[i], sites, &none, &none, &scopes);
	}
	return rc;
}

/* The last one of that name; or what there is. */
static int find_mark(const struct seep_profile *profile, const struct side *side,
		     const struct seep_profile_mark **ret, struct seep_error *err)
{
	struct core_nearest nearest;
	SEEP_STRBUF(names, MARKS_BYTES_MAX);
	const char *near;

	core_nearest_init(&nearest, side->mark);
	for (uint32_t i = profile->mark_count; i-- > 0;) {
		const struct seep_profile_mark *mark = &profile->marks[i];

		if (!mark->name)
			continue;
		if (strcmp(mark->name, side->mark) == 0) {
			*ret = mark;
			return 0;
		}
		core_nearest_offer(&nearest, mark->name);
		seep_strbuf_addf(&names, "%s%s", names.length ? ", " : "", mark->name);
	}
	near = core_nearest_word(&nearest);
	if (names.length == 0)
		return seep_fail(err, SEEP_ENOTFOUND,
				 "%s has no mark; \"seep mark\" and seep_mark() set them",
				 side->what);
	return seep_fail(err, SEEP_ENOTFOUND, "%s has no mark %s%s%s%s; last first, it has %s%s",
			 side->what, side->mark, near ? " (did you mean " : "", near ? near : "",
			 near ? "?)" : "", names.text, names.overflowed ? ", …" : "");
}

static int show(struct seep_diff_view *view, struct seep_error *err)
{
	const struct seep_printer printer = seep_printer_for(stdout, 0);
	struct seep_atomic_file output;
	int rc = seep_output_begin(asked.html ? asked.html : seep_json_file(asked.json),
				   asked.html ? "a page" : "JSON", &output, err);

	if (rc < 0)
		return rc;
	view->top = (uint32_t)asked.top_count;
	view->full = asked.full;
	if (asked.html)
		seep_page_diff(output.stream, view);
	else if (asked.json)
		seep_report_diff_json(output.stream, view, seep_json_strings(asked.json));
	else
		seep_report_diff(&printer, view);
	return seep_output_end(&output, err);
}

/* Of what other tools made, some figures are not. */
static int check_known(const struct side *side, const struct seep_profile *profile,
		       struct seep_error *err)
{
	const enum seep_measure measure = (enum seep_measure)asked.by;

	return seep_measure_is_known(profile, measure)
		       ? 0
		       : seep_fail(err, SEEP_EUSAGE, "the %s of %s are not known",
				   seep_measure_words(profile, measure), side->what);
}

static int compare(const struct side sides[2], struct seep_error *err)
{
	SEEP_RELEASED(seep_profile_free_at) struct seep_profile *a = NULL, *b = NULL;
	SEEP_RELEASED(seep_diff_free_at) struct seep_diff *diff = NULL;
	struct seep_diff_view view = { .names = { sides[0].what, sides[1].what } };
	int rc = load(&sides[0], false, &a, err);

	if (rc == 0)
		rc = load(&sides[1], true, &b, err);
	if (rc == 0)
		rc = check_known(&sides[0], a, err);
	if (rc == 0)
		rc = check_known(&sides[1], b, err);
	if (rc == 0)
		rc = keep_scopes((struct seep_profile *[]){ a, b }, 2, err);
	if (rc < 0)
		return rc;
	view.diff = diff = seep_diff_new(a, b, (enum seep_measure)asked.by);
	return show(&view, err);
}

/* Before the profile is read, so that it has the rows of all of them. */
static int read_blocks(const struct side *side, struct seep_block_list *ret, struct seep_error *err)
{
	SEEP_RELEASED(seep_ledger_close) struct seep_ledger ledger = { .fd = -1 };
	enum seep_process_life life;
	uint32_t pid = 0;
	int rc;

	if (!side->found.runs)
		return seep_fail(err, SEEP_EUSAGE,
				 "--blocks needs a process that runs, which %s is not", side->what);
	rc = seep_ledger_open(AT_FDCWD, side->found.path, SEEP_LEDGER_READ, &ledger, err);
	if (rc < 0)
		return rc;
	life = seep_process_life(&ledger, &pid);
	if (life == SEEP_PROCESS_RUNNING)
		return seep_block_list_read((pid_t)pid, &ledger.view.header, ret, err);
	return seep_fail(err, SEEP_ENOTFOUND, "%s %s", side->what, seep_process_life_text(life));
}

/* The epochs between the marks of @from and @until; without the latter all since. */
static int find_between(const struct seep_profile *profile, const struct side *from,
			const struct side *until, struct seep_diff_view *view,
			struct seep_epochs *ret, struct seep_error *err)
{
	int rc = find_mark(profile, from, &view->from, err);

	if (rc == 0 && until && until->mark)
		rc = find_mark(profile, until, &view->until, err);
	if (rc < 0)
		return rc;
	*ret = (struct seep_epochs){ view->from->epoch,
				     view->until ? view->until->epoch : UINT32_MAX };
	if (view->until == view->from)
		return seep_fail(err, SEEP_EUSAGE, "both are the mark %s", from->mark);
	return !view->until || ret->from < ret->end
		       ? 0
		       : seep_fail(err, SEEP_EUSAGE,
				   "the mark %s does not come after %s: type seep diff %s@%s %s@%s",
				   until->mark, from->mark, from->what, until->mark, from->what,
				   from->mark);
}

static int show_held(const struct seep_profile *profile, const struct seep_epochs *rounds,
		     uint32_t count, const struct seep_block_list *blocks, uint32_t blocks_max,
		     struct seep_diff_view *view, struct seep_error *err)
{
	SEEP_RELEASED(seep_sites_free_at) struct seep_sites *sites = seep_sites_new(profile);
	SEEP_RELEASED(seep_groups_free_at)
	struct seep_groups *groups = seep_groups_new(sites, true, false);
	SEEP_RELEASED(seep_diff_free_at)
	struct seep_diff *diff = seep_diff_held(profile, groups, rounds, count);

	seep_diff_list_blocks(diff, blocks->items, blocks->count, blocks_max);
	view->diff = diff;
	return show(view, err);
}

/* What can be asked of blocks that are held. */
static int check_held(uint64_t *ret_blocks_max, struct seep_error *err)
{
	*ret_blocks_max = BLOCKS_DEFAULT;
	if (asked.by != SEEP_BY_LIVE)
		return seep_fail(err, SEEP_EUSAGE, "marks tell of live blocks only, not --by %s",
				 measures[asked.by]);
	return asked.blocks && *asked.blocks
		       ? seep_parse_count(asked.blocks, TOP_MAX, ret_blocks_max, err)
		       : 0;
}

/* @rounds: NULL: what their marks say. */
static int hold(const struct side *from, const struct side *until, const struct seep_epochs *rounds,
		uint32_t round_count, struct seep_error *err)
{
	struct seep_diff_view view = { .names = { NULL, from->what }, .listed = asked.blocks };
	SEEP_RELEASED(seep_block_list_done) struct seep_block_list blocks = { 0 };
	SEEP_RELEASED(seep_profile_free_at) struct seep_profile *profile = NULL;
	struct seep_epochs between;
	uint64_t blocks_max;
	int rc = check_held(&blocks_max, err);

	if (rc == 0 && asked.blocks)
		rc = read_blocks(from, &blocks, err);
	if (rc == 0)
		rc = load(from, true, &profile, err);
	if (rc == 0)
		rc = keep_scopes(&profile, 1, err);
	if (rc == 0 && rounds && profile->process.pid != from->found.entry->pid)
		rc = seep_fail(err, SEEP_ENOTFOUND, "the ledger of %s was replaced", from->what);
	if (rc == 0 && !rounds)
		rc = find_between(profile, from, until, &view, &between, err);
	if (rc == 0)
		rc = show_held(profile, rounds ? rounds : &between, round_count, &blocks,
			       (uint32_t)blocks_max, &view, err);
	return rc;
}

static int diff(char **operands, struct side sides[2], struct seep_error *err)
{
	const bool now = operands[1] && strcmp(operands[1], "now") == 0 && access("now", F_OK) != 0;
	const struct side *a = &sides[0], *b = operands[1] && !now ? &sides[1] : NULL;
	int rc = 0;

	if (operands[1] && operands[2])
		return seep_fail(err, SEEP_EUSAGE, "two things can be compared, not more: %s",
				 operands[2]);
	if (asked.round_count || asked.settle_ns)
		return seep_fail(err, SEEP_EUSAGE, "--rounds and --settle need --cycle");
	rc = side_find(&sides[0], operands[0], err);
	if (rc == 0 && b)
		rc = side_find(&sides[1], operands[1], err);
	if (rc < 0)
		return rc;
	if (b && !seep_path_is_same(a->found.path, b->found.path)) {
		if (asked.blocks)
			return seep_fail(err, SEEP_EUSAGE, "--blocks needs marks: %s@MARK",
					 a->what);
		if (a->mark || b->mark)
			return seep_fail(
				err, SEEP_EUSAGE,
				"marks compare moments of one process: type seep diff %s %s, "
				"or %s@MARK1 %s@MARK2",
				a->what, b->what, a->what, a->what);
		return compare(sides, err);
	}
	if (!a->mark && b)
		return seep_fail(err, SEEP_EUSAGE,
				 "both are %s: name the marks to compare, %s@MARK1 %s@MARK2",
				 a->what, a->what, a->what);
	if (!a->mark)
		return seep_fail(err, SEEP_EUSAGE,
				 "%s alone: name another one, or the mark to begin at, %s@MARK",
				 a->what, a->what);
	return hold(a, b, NULL, 1, err);
}

/* ---- --cycle: idle, work, idle, with marks before and after the work --------------------------- */

static uint32_t round_count(void)
{
	return asked.round_count ? (uint32_t)asked.round_count : 1;
}

static int wait_for_enter(uint32_t round, struct seep_error *err)
{
	int byte;

	(void)fprintf(stderr,
		      "seep: round %" PRIu32 " of %" PRIu32
		      ": let it work and come to rest, then press Enter\n",
		      round, round_count());
	do
		byte = getchar();
	while (byte != '\n' && byte != EOF);
	return byte == EOF
		       ? seep_fail(err, SEEP_ESYS, "standard input ended before Enter was pressed")
		       : 0;
}

/* As system(3): the terminal's interrupts are the command's. */
static int run_command(char **command, bool *failed, struct seep_error *err)
{
	const struct sigaction ignore = { .sa_handler = SIG_IGN };
	struct sigaction before[2];
	posix_spawnattr_t attributes;
	sigset_t defaults;
	int status = 0;
	pid_t pid;
	int rc;

	(void)sigaction(SIGINT, &ignore, &before[0]);
	(void)sigaction(SIGQUIT, &ignore, &before[1]);
	(void)sigemptyset(&defaults);
	if (before[0].sa_handler != SIG_IGN)
		(void)sigaddset(&defaults, SIGINT);
	if (before[1].sa_handler != SIG_IGN)
		(void)sigaddset(&defaults, SIGQUIT);
	(void)posix_spawnattr_init(&attributes);
	(void)posix_spawnattr_setsigdefault(&attributes, &defaults);
	(void)posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
	rc = posix_spawnp(&pid, command[0], NULL, &attributes, command, environ);
	(void)posix_spawnattr_destroy(&attributes);
	while (rc == 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	(void)sigaction(SIGINT, &before[0], NULL);
	(void)sigaction(SIGQUIT, &before[1], NULL);
	if (rc != 0)
		return seep_fail_errno(err, rc, "cannot run %s", command[0]);
	/* Who interrupts the command means all of this. */
	if (WIFSIGNALED(status) && (WTERMSIG(status) == SIGINT || WTERMSIG(status) == SIGQUIT))
		(void)raise(WTERMSIG(status));
	if (WIFSIGNALED(status))
		seep_complainf("diff", "%s was killed by signal %d", command[0], WTERMSIG(status));
	else if (WEXITSTATUS(status) != 0)
		seep_complainf("diff", "%s ended with status %d", command[0], WEXITSTATUS(status));
	*failed |= status != 0;
	return 0;
}

static int mark_round(struct seep_ledger *ledger, uint32_t round, const char *suffix,
		      uint32_t *ret_epoch, struct seep_error *err)
{
	char name[LEDGER_MARK_NAME_BYTES];

	if (seep_process_life(ledger, NULL) != SEEP_PROCESS_RUNNING)
		return seep_fail(err, SEEP_ENOTFOUND, "process %u ended in round %" PRIu32,
				 ledger->view.header.pid, round);
	(void)snprintf(name, sizeof(name), "cycle %" PRIu32 "%s", round, suffix);
	return seep_ledger_mark(ledger, name, seep_monotonic_ns(), ret_epoch, err);
}

static void settle(uint64_t ns)
{
	struct timespec left = {
		.tv_sec = (time_t)(ns / SEEP_NS_PER_S),
		.tv_nsec = (long)(ns % SEEP_NS_PER_S),
	};

	while (nanosleep(&left, &left) < 0 && errno == EINTR)
		;
}

/*
 * Let the process work, @command or NULL for what somebody does before pressing Enter, and mark when
 * it did. @ret_failed: the command did not end with status 0 each time, as was said.
 */
static int run_rounds(const struct seep_ledger_operand *process, char **command,
		      struct seep_epochs *ret_epochs, bool *ret_failed, struct seep_error *err)
{
	SEEP_RELEASED(seep_ledger_close) struct seep_ledger ledger = { .fd = -1 };
	int rc = seep_ledger_operand_open(process, &ledger, err);

	if (rc < 0)
		return rc;
	for (uint32_t i = 0; i < round_count() && rc == 0; i++) {
		rc = mark_round(&ledger, i + 1, "", &ret_epochs[i].from, err);
		if (rc == 0)
			rc = command ? run_command(command, ret_failed, err)
				     : wait_for_enter(i + 1, err);
		if (rc == 0)
			rc = mark_round(&ledger, i + 1, " end", &ret_epochs[i].end, err);
		if (rc == 0)
			settle(asked.settle_ns);
		else if (i > 0)
			seep_error_prefix(err,
					  "after %" PRIu32 " rounds, whose marks are there "
					  "(seep diff %u@'cycle 1')",
					  i, ledger.view.header.pid);
	}
	return rc;
}

static int cycle(char **operands, struct side *side, bool *ret_failed, struct seep_error *err)
{
	struct seep_epochs epochs[ROUNDS_MAX];
	uint64_t blocks_max;
	int rc = check_held(&blocks_max, err);

	if (rc == 0)
		rc = side_find(side, operands[0], err);
	if (rc == 0 && side->mark)
		rc = seep_fail(err, SEEP_EUSAGE, "--cycle sets its marks itself: type %s",
			       side->what);
	if (rc == 0)
		rc = run_rounds(&side->found, operands[1] ? operands + 1 : NULL, epochs, ret_failed,
				err);
	return rc == 0 ? hold(side, NULL, epochs, round_count(), err) : rc;
}

/* Before anything is waited for. */
static int check_outputs(struct seep_error *err)
{
	if (asked.json && asked.html)
		return seep_fail(err, SEEP_EUSAGE, "--json and --html exclude each other");
	if (asked.html && asked.full)
		return seep_fail(err, SEEP_EUSAGE, "--full cannot be used with --html");
	return asked.html ? seep_output_check(asked.html, "a page", err)
			  : seep_json_check(asked.json, err);
}

int cmd_diff(char **operands, struct seep_error *err)
{
	struct side sides[2] = { 0 };
	bool failed = false;
	int status = SEEP_EXIT_OK;
	int rc = check_outputs(err);

	if (rc == 0)
		rc = asked.cycle ? cycle(operands, &sides[0], &failed, err)
				 : diff(operands, sides, err);
	if (rc < 0)
		status = seep_complain("diff", err);
	for (int i = 0; i < 2; i++) {
		if (!sides[i].found.entry)
			seep_ledger_hint(sides[i].what, err);
		free(sides[i].what);
		seep_ledger_operand_done(&sides[i].found);
	}
	return failed ? SEEP_EXIT_FAILURE : status;
}
