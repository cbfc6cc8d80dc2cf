/* SPDX-License-Identifier: MIT */
/*
 * The result of "seep check", for people and for what runs checks. What the program under study
 * named is hostile in each format in its own way. Nothing here fails: see report.h.
 */
#ifndef SEEP_REPORT_CHECK_H
#define SEEP_REPORT_CHECK_H

#include "analysis/budget_check.h"
#include "base/text.h"
#include "base/xalloc.h"
#include "view/source_place.h"

#include <stdio.h>

/* A recording and what was found: an outcome for each of the budgets. */
struct seep_checked_file {
	char *path;
	char *name;   /* of its program */
	uint32_t pid; /* 0: the file could not be read */
	struct seep_budget_side side;
	struct seep_budget_outcome *outcomes;
};

struct seep_check {
	const struct seep_budgets *budgets;
	struct seep_checked_file *files;
	size_t count;
	size_t capacity;
	struct seep_source_root root;
	uint32_t top; /* call stacks of a broken budget in text; 0: all */
	bool full;    /* whole stacks, whole names */
	const char
		*allowed; /* what need not be known: NULL nothing, "" anything, codes with commas */
};

/* One thing to say of a check: of a budget in a file, or of one of its call stacks. */
struct seep_check_remark {
	const struct seep_check *check;
	const struct seep_checked_file *file;
	const struct seep_budget_outcome *outcome;
	const struct seep_budget_stack *stack; /* NULL: there is none */
};

/* What an outcome comes to: NOT_KNOWN that is excused or allowed is KEPT. */
enum seep_budget_result seep_check_result(const struct seep_check *check,
					  const struct seep_budget_outcome *outcome);

/* Of all: BROKEN before NOT_KNOWN before KEPT. */
enum seep_budget_result seep_check_all(const struct seep_check *check);

/* @say all that is not kept: each leak where leaks are counted, else each budget, once. */
void seep_check_each(const struct seep_check *check,
		     void (*say)(void *user, const struct seep_check_remark *remark), void *user);

/* "31.2 MB, 7.2 MB more than the budget", "2 leaks", or why it is not known; to free(). */
char *seep_check_sentence(const struct seep_budget_outcome *outcome) SEEP_RETURNS_MEMORY;

/* The remark in one line, and that of its call stack alone: "12 MB in 3 blocks"; to free(). */
char *seep_check_line(const struct seep_check_remark *remark) SEEP_RETURNS_MEMORY;
char *seep_check_figures(const struct seep_check_remark *remark) SEEP_RETURNS_MEMORY;

/* The call stack; NULL: it is not here. */
const struct seep_profile_context *seep_check_context(const struct seep_check_remark *remark);

/* Where to mend it; release with seep_source_place_done(). */
struct seep_source_place seep_check_place(const struct seep_check_remark *remark);

/* What is broken or not known, with the largest call stacks, and a line on the rest. */
void seep_check_text(const struct seep_printer *printer, const struct seep_check *check);

/* The largest call stacks of the remark's budget, as text shows them, escaped; to free(). */
char *seep_check_stacks(const struct seep_check_remark *remark) SEEP_RETURNS_MEMORY;

/* As docs/json.md says; @strings: as in seep_report_json(). */
void seep_check_json(FILE *out, const struct seep_check *check, bool strings);

/* A test suite for each file, a test case for each budget. */
void seep_check_junit(FILE *out, const struct seep_check *check);

/* SARIF 2.1.0: a result for each remark. */
void seep_check_sarif(FILE *out, const struct seep_check *check);

/*
 * GitHub's workflow commands, an annotation for each remark, no more than it shows; and the
 * Markdown of the step's summary.
 */
void seep_check_github(FILE *out, const struct seep_check *check);
void seep_check_markdown(FILE *out, const struct seep_check *check);

#endif
