/* SPDX-License-Identifier: MIT */
/*
 * The result of "seep check" in words, and its formats. All text, paths too, is escaped for terminals
 * when it is made: it has no control bytes, and no line ends but between lines of ours. So a format
 * only has to escape what means something in it. Nothing here fails: see report.h.
 */
#ifndef SEEP_REPORT_CHECK_H
#define SEEP_REPORT_CHECK_H

#include "analysis/budget_check.h"
#include "base/xalloc.h"

#include <stdio.h>

struct seep_check_place {
	char *path;    /* of the source below the root; NULL: nowhere there */
	uint32_t line; /* 0: not known */
};

/* A call stack of a broken budget. */
struct seep_check_stack {
	char *text;		       /* figures, hash and frames, a line each */
	struct seep_check_place place; /* where to mend it */
	struct seep_check_place block; /* of a finding, where its block was allocated */
	uint8_t finding; /* enum ledger_finding_kind; LEDGER_FINDING_NONE of others, and later ones */
	uint64_t hash;
};

struct seep_check_outcome {
	unsigned measure;
	enum seep_budget_result result;
	char *budget;			 /* "leaks<=0" */
	char *text;			 /* "2 leaks" */
	struct seep_check_stack *stacks; /* of BROKEN: largest first */
	uint32_t stack_count;
	uint32_t left_out; /* further stacks */
};

/* A recording, and an outcome for each budget. */
struct seep_check_file {
	char *path;
	char *name;    /* "run.seep: parser (pid 12)" */
	char *program; /* "parser" */
	struct seep_check_outcome *outcomes;
};

struct seep_check {
	const struct seep_budgets *budgets;
	const char *root;   /* of the source: absolute, normal */
	bool allow_unknown; /* what is not known passes */
	struct seep_check_file *files;
	size_t count;
	size_t results[SEEP_BUDGET_RESULT_COUNT]; /* how many outcomes have it */
};

/* Check the recording at @path, which is @side, against all budgets. */
void seep_check_add(struct seep_check *check, const char *path, const struct seep_budget_side *side,
		    const struct seep_budget_plan *plan);

/* Release files and outcomes. */
void seep_check_done(struct seep_check *check);

/* Of all: BROKEN before NOT_KNOWN, unless that is allowed, before KEPT. */
enum seep_budget_result seep_check_result(const struct seep_check *check);

/* Where @file of a frame is below @root, escaped, in new memory; NULL: it is not. */
char *seep_check_path_below(const char *root, const char *file);

/* One thing to say: of a leak or finding where they are counted, else of a budget. */
struct seep_check_remark {
	const struct seep_check_file *file;
	const struct seep_check_outcome *outcome;
	const struct seep_check_stack *stack; /* that of it, or the largest; NULL: none */
	bool is_counted;		      /* it is a leak or finding */
	char *text; /* "parser: LOST: 4.0 KB in 10 blocks" and frames, or the outcome and its stacks */
};

/* @say all that does not pass. */
void seep_check_each(const struct seep_check *check,
		     void (*say)(void *user, const struct seep_check_remark *remark), void *user);

/* As many call stacks as people read, and how many more there are; to free(). */
char *seep_check_stacks(const struct seep_check_outcome *outcome) SEEP_RETURNS_MEMORY;

enum seep_check_escape {
	SEEP_AS_ENTITY,	   /* "&#60;" */
	SEEP_AS_PERCENT,   /* "%3C" */
	SEEP_AS_BACKSLASH, /* "\<" */
};

/* @text, those of its bytes that are among @special escaped; NULL: as in a URI's path; to free(). */
char *seep_check_escape(const char *text, const char *special,
			enum seep_check_escape as) SEEP_RETURNS_MEMORY;

/* For people. */
void seep_check_text(FILE *out, const struct seep_check *check);

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
