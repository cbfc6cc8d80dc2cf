/* SPDX-License-Identifier: MIT */
#include "cli/run_outcome.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cli/complain.h"
#include "cli/output_file.h"
#include "core/bits.h"
#include "report/report.h"
#include "target/reasons.h"

enum { LISTED_MAX = 8 };

static void list_left(const struct seep_texts *left)
{
	const size_t shown = core_smaller(left->count, LISTED_MAX);
	const bool one = left->count == 1;

	if (left->count == 0)
		return;
	(void)fprintf(stderr, "seep: %zu %s counting; to save a recording of %s:\n", left->count,
		      one ? "process still runs and goes on" : "processes still run and go on",
		      one ? "it" : "one");
	for (size_t i = 0; i < shown; i++)
		seep_print_escaped(stderr, "  seep save %s", left->items[i]);
	if (shown < left->count)
		(void)fprintf(stderr, "  and %zu more: seep ps\n", left->count - shown);
}

/*
 * Other recordings that have @what, which @command shows. @told: the one that was summed up above; may
 * be NULL.
 */
static void list_others(const struct seep_texts *others, const char *told, const char *what,
			const char *command)
{
	const size_t count = others->count - (told && seep_texts_have(others, told));
	size_t shown = 0;

	if (count > 0)
		(void)fprintf(stderr, "seep: there are %s in %zu other process%s of this run:\n",
			      what, count, count == 1 ? "" : "es");
	for (size_t i = 0; i < others->count && shown < LISTED_MAX; i++) {
		SEEP_STRBUF(word, SEEP_LINE_BYTES_MAX);

		if (told && strcmp(others->items[i], told) == 0)
			continue;
		shown++;
		seep_text_shell_word(&word, others->items[i]);
		(void)fprintf(stderr, "  seep %s %s\n", command, word.text);
	}
	if (shown < count)
		(void)fprintf(stderr, "  and %zu more\n", count - shown);
}

/* The process with the largest peak leads, whoever started it. */
static void summarise(const char *output, const struct seep_recorder_result *result)
{
	const struct seep_profile *lead = result->lead ? result->lead : result->profile;
	const struct seep_printer printer = seep_printer_for(stderr, 80);
	const char *path = result->recorded ? output : NULL;

	if (lead)
		seep_report_summary(&printer, lead, result->lead ? result->lead_path : path);
	for (size_t i = 0; i < result->notes.count; i++)
		seep_complainf(NULL, "%s", result->notes.items[i]);
	if (result->profile)
		seep_report_others(&printer, result->profile, lead, path);
	else if (result->other_count)
		(void)fprintf(stderr, "seep: recordings of %zu other processes are in %s\n",
			      result->other_count, result->folder);
}

/* What can be known when the program is gone: about its file, and about the machine. */
static void complain_nothing_recorded(const struct seep_program *program, const char *ledger_dir)
{
	struct seep_finding reason;
	SEEP_RELEASED(seep_facts_done) struct seep_facts facts;

	seep_facts_init(&facts);
	seep_facts_look_at_program(&facts, program->path);
	seep_facts_look_at_machine(&facts, ledger_dir, NULL);
	if (seep_reasons_first(&facts, &reason)) {
		seep_complainf("run", "nothing was recorded for %s: %s", program->name,
			       reason.sentence);
		seep_hint("%s", reason.advice);
	} else {
		seep_complainf("run",
			       "nothing was recorded for %s: it ended before libseep.so "
			       "started in it, or its loader ignored LD_PRELOAD",
			       program->name);
		seep_hint("\"seep doctor %s\" looks at the program and at this machine",
			  program->path);
	}
}

static void list_problems(const struct seep_recorder_result *result)
{
	size_t count = result->problems.count;
	size_t first = count <= LISTED_MAX ? 0 : count - LISTED_MAX;

	/* FILE is written last: what went wrong with it must not be among those left out. */
	if (first > 0)
		seep_complainf("run", "%zu problems, the last %d of them:", count, LISTED_MAX);
	for (size_t i = first; i < count; i++)
		seep_complainf("run", "%s", result->problems.items[i]);
}

/* The status is the program's in any case. */
static void write_json(const char *where, const struct seep_profile *profile)
{
	const struct seep_view_options options = { .by = SEEP_BY_CHOICE };
	struct seep_error err = { 0 };

	if (seep_json_report(where, profile, &options, &err) < 0)
		seep_complainf("run", "cannot write the report to %s: %s", where, err.text);
	/* A reader that has gone has its reasons. */
	else if ((fflush(stdout) != 0 || ferror(stdout)) && errno != EPIPE)
		seep_complainf("run", "cannot write the report to standard output: %s",
			       strerror(errno));
}

void seep_run_outcome_print(const struct seep_program *program,
			    const struct seep_recorder_plan *plan, const char *json,
			    const struct seep_recorder_result *result)
{
	list_problems(result);
	if (result->gave_up || (result->profile && !result->recorded))
		seep_hint(
			"\"seep report\" reads the ledger, \"seep save\" makes a recording of it");
	if (!result->profile && result->problems.count == 0)
		complain_nothing_recorded(program, plan->ledger_dir);
	if (!plan->quiet) {
		summarise(plan->output, result);
		list_others(&result->leaky, result->lead_path, "leaks", "leaks");
		list_others(&result->misused, result->lead_path, "heap errors", "report");
		if (result->unscanned_count)
			(void)fprintf(stderr,
				      "seep: %zu other process%s could not be scanned for leaks\n",
				      result->unscanned_count,
				      result->unscanned_count == 1 ? "" : "es");
	}
	list_left(&result->left);
	if (json && result->profile)
		write_json(json, result->profile);
}
