/* SPDX-License-Identifier: MIT */
/*
 * Why a program is not recorded, or only in part: one table of reasons. Each has a condition on the
 * facts, a sentence and an advice. "seep doctor" uses it before a run, "seep run" after a run that
 * left no ledger, and the recorder for programs that a process started by exec.
 */
#ifndef SEEP_TARGET_REASONS_H
#define SEEP_TARGET_REASONS_H

#include "target/facts.h"

enum { SEEP_REASON_TEXT_BYTES = 1024, SEEP_FINDINGS_MAX = 48 };

enum seep_finding_level {
	SEEP_FINDING_OK,
	SEEP_FINDING_NOTE,    /* less is seen, or less than one might think */
	SEEP_FINDING_PROBLEM, /* nothing is recorded, or next to nothing */
};

/* What became of one check. */
struct seep_finding {
	const char *code; /* stable */
	enum seep_finding_level level;
	/* Begin in lower case but for names, and have no full stop; "" where all is well. */
	char sentence[SEEP_REASON_TEXT_BYTES];
	char advice[SEEP_REASON_TEXT_BYTES]; /* "" = nothing to do */
};

struct seep_findings {
	struct seep_finding items[SEEP_FINDINGS_MAX]; /* one for each code, most telling first */
	size_t count;
};

/* The item of @code, made when there is none; NULL when something has been said of it. */
struct seep_finding *seep_findings_open(struct seep_findings *found, const char *code);

/* "sentence\nadvice". */
void seep_finding_say(struct seep_finding *item, enum seep_finding_level level, const char *fmt,
		      ...) SEEP_PRINTF(3, 4);

/* A row: "sentence\nadvice" and its arguments, which are looked at only where @when holds. */
#define SEEP_REASON(found, code, level, when, ...)                            \
	do {                                                                  \
		struct seep_finding *item_ = seep_findings_open(found, code); \
                                                                              \
		if (item_ && (when))                                          \
			seep_finding_say(item_, level, __VA_ARGS__);          \
	} while (0)

/* Fill @found. Every check that applies has an item, also where all is well. */
void seep_reasons_find(const struct seep_facts *facts, struct seep_findings *found);

/* How many are of @level. */
size_t seep_findings_of_level(const struct seep_findings *found, enum seep_finding_level level);

/* The most telling reason why there is no ledger, to @ret_finding. False: none is known. */
bool seep_reasons_first(const struct seep_facts *facts, struct seep_finding *ret_finding);

#endif
