/* SPDX-License-Identifier: MIT */
#include "cli/run_outcome.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/terminal.h"
#include "base/units.h"
#include "base/xalloc.h"
#include "cli/complain.h"
#include "report/report.h"
#include "target/reasons.h"

enum { LISTED_MAX = 8 };

static void print_line(const char *text)
{
	char *safe = seep_escape_dup(text);

	(void)fprintf(stderr, "%s\n", safe);
	free(safe);
}

static void list_notes(const struct seep_recorder_result *result)
{
	for (size_t i = 0; i < result->note_count; i++) {
		char *line = seep_xasprintf("seep: %s", result->notes[i]);

		print_line(line);
		free(line);
	}
}

static int by_peak(const void *a, const void *b)
{
	const struct seep_recorder_file *left = a;
	const struct seep_recorder_file *right = b;

	if (left->peak_bytes != right->peak_bytes)
		return left->peak_bytes < right->peak_bytes ? 1 : -1;
	return (left->pid > right->pid) - (left->pid < right->pid);
}

static void list_children(const struct seep_recorder_list *children)
{
	size_t shown = children->count <= LISTED_MAX ? children->count : LISTED_MAX;

	if (children->count == 0)
		return;
	qsort(children->items, children->count, sizeof(*children->items), by_peak);
	(void)fprintf(stderr, "seep: %zu child %s recorded%s:\n", children->count,
		      children->count == 1 ? "process was" : "processes were",
		      children->count == 1 ? "" : ", by peak");
	for (size_t i = 0; i < shown; i++) {
		const struct seep_recorder_file *child = &children->items[i];
		char *line = seep_xasprintf("  %s  %s at its peak, %s allocations", child->path,
					    seep_bytes_text(child->peak_bytes).text,
					    seep_count_text(child->allocs).text);

		print_line(line);
		free(line);
	}
	if (shown < children->count)
		(void)fprintf(stderr, "  and %zu more\n", children->count - shown);
}

static void list_left(const struct seep_recorder_list *left)
{
	size_t shown = left->count <= LISTED_MAX ? left->count : LISTED_MAX;

	if (left->count == 0)
		return;
	(void)fprintf(stderr, "seep: %zu %s counting:\n", left->count,
		      left->count == 1 ? "process still runs and goes on"
				       : "processes still run and go on");
	for (size_t i = 0; i < shown; i++) {
		char *line = seep_xasprintf("  %s (%u): seep report %s", left->items[i].exe,
					    left->items[i].pid, left->items[i].path);

		print_line(line);
		free(line);
	}
	if (shown < left->count)
		(void)fprintf(stderr, "  and %zu more: seep ps\n", left->count - shown);
}

/* What can be known when the program is gone: about its file, and about the machine. */
static void complain_nothing_recorded(const struct seep_run_outcome *outcome)
{
	struct seep_finding reason;
	struct seep_facts facts;

	seep_facts_init(&facts);
	seep_facts_look_at_program(&facts, outcome->program_path);
	seep_facts_look_at_machine(&facts, outcome->ledger_dir, NULL);
	if (seep_reasons_first(&facts, &reason)) {
		seep_complainf("run", "nothing was recorded for %s: %s", outcome->program,
			       reason.sentence);
		seep_hint("%s", reason.advice);
	} else {
		seep_complainf("run",
			       "nothing was recorded for %s: it ended before libseep.so "
			       "started in it, or its loader ignored LD_PRELOAD",
			       outcome->program);
		seep_hint("\"seep doctor %s\" looks at the program and at this machine",
			  outcome->program);
	}
	seep_facts_done(&facts);
}

static void list_problems(const struct seep_recorder_result *result)
{
	size_t count = result->problem_count;
	size_t first = count <= LISTED_MAX ? 0 : count - LISTED_MAX;

	/* FILE is written last: what went wrong with it must not be among those left out. */
	if (first > 0)
		seep_complainf("run", "%zu problems, the last %d of them:", count, LISTED_MAX);
	for (size_t i = first; i < count; i++) {
		seep_complainf("run", "%s", result->problems[i]);
	}
}

static void print_json(const struct seep_profile *profile, const struct seep_report_options *report)
{
	seep_report_json(stdout, profile, report);
	/* A reader that has gone has its reasons; the status is the program's in any case. */
	if ((fflush(stdout) != 0 || ferror(stdout)) && errno != EPIPE)
		seep_complainf("run", "cannot write the report to standard output: %s",
			       strerror(errno));
}

void seep_run_outcome_print(const struct seep_run_outcome *outcome,
			    const struct seep_recorder_result *result)
{
	struct seep_report_options report = {
		.path = result->recorded ? outcome->output : NULL,
		.width = seep_terminal_width(STDERR_FILENO, 80),
		.color = seep_terminal_color(STDERR_FILENO),
		.by = SEEP_BY_CHOICE,
	};

	list_problems(result);
	if (result->profile && !result->recorded)
		seep_hint("the ledger was kept: \"seep ps\" names it, \"seep report\" reads it");
	if (!result->profile && result->problem_count == 0)
		complain_nothing_recorded(outcome);
	if (result->profile && !outcome->quiet)
		seep_report_summary(stderr, result->profile, &report);
	if (!outcome->quiet) {
		list_notes(result);
		list_children(&result->children);
	}
	list_left(&result->left);
	if (outcome->json && result->profile) {
		report.width = 0;
		report.color = false;
		report.strings = *outcome->json != '\0';
		print_json(result->profile, &report);
	}
}
