/* SPDX-License-Identifier: MIT */
/*
 * Whether a profile keeps to a budget: what counts, how sure that is, and which call stacks have
 * most of it. What cannot be known is never taken for kept.
 */
#ifndef SEEP_ANALYSIS_BUDGET_CHECK_H
#define SEEP_ANALYSIS_BUDGET_CHECK_H

#include "analysis/budget.h"
#include "analysis/sites.h"

enum seep_budget_result {
	SEEP_BUDGET_KEPT,
	SEEP_BUDGET_BROKEN,
	SEEP_BUDGET_NOT_KNOWN,
	SEEP_BUDGET_RESULT_COUNT,
};

/* "kept", "broken", "not-known". */
extern const char *const seep_budget_result_names[SEEP_BUDGET_RESULT_COUNT];

/* A call stack with a part of what counts. */
struct seep_budget_stack {
	uint32_t context;		      /* index + 1; 0: its call stack is not here */
	const struct seep_profile_leak *leak; /* NULL: not one */
	uint64_t hash;
	uint64_t value; /* of a leak in bytes, with what goes with it, whatever is measured */
	uint64_t blocks;
};

enum { SEEP_BUDGET_STACKS_MAX = 1000 };

struct seep_budget_outcome {
	const struct seep_budget *budget;
	enum seep_budget_result result;
	bool is_excused;  /* it is not known, and need not be: the budget says so */
	bool has_place;	  /* some call stack is of the place, if there is one to be of */
	uint64_t value;	  /* at least that */
	uint64_t unsure;  /* so much more may be of it */
	uint64_t base;	  /* of the baseline */
	uint64_t limit;	  /* with the baseline's */
	const char *code; /* of NOT_KNOWN: a stable word, and why in one sentence */
	char *reason;
	struct seep_budget_stack *stacks; /* of BROKEN: largest first */
	uint32_t stack_count;
	uint32_t left_out; /* beyond SEEP_BUDGET_STACKS_MAX */
};

/* A profile whose contexts have hashes, and its sites. */
struct seep_budget_side {
	struct seep_profile *profile;
	struct seep_sites *sites;
};

/* What is known already, so that only what is new counts. */
struct seep_budget_known {
	uint64_t *leaks; /* ascending hashes */
	size_t leak_count;
	uint64_t *growing;
	size_t growing_count;
};

struct seep_budget_plan {
	uint32_t leak_kinds; /* bits of enum seep_verdict */
	bool is_child;	     /* it is one of the other processes of a run */
	bool alone;	     /* those do not matter, recorded or not */
	bool has_baseline;
	struct seep_budget_known known;		 /* of all baselines */
	const struct seep_budget_side *baseline; /* what to compare with; NULL: there is none */
};

/* Add what @profile has to @known; release that with seep_budget_known_done(). */
void seep_budget_known_add(struct seep_budget_known *known, const struct seep_profile *profile,
			   uint32_t leak_kinds);
void seep_budget_known_done(struct seep_budget_known *known);

/* Release what it returns with seep_budget_outcome_done(). Never fails. */
struct seep_budget_outcome seep_budget_check(const struct seep_budget *budget,
					     const struct seep_budget_side *side,
					     const struct seep_budget_plan *plan);
void seep_budget_outcome_done(struct seep_budget_outcome *outcome);

#endif
