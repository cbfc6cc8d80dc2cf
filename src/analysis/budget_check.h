/* SPDX-License-Identifier: MIT */
/*
 * Whether a profile keeps to a budget: what counts, how sure that is, and which call stacks have
 * most of it. What cannot be known is never taken for kept.
 */
#ifndef SEEP_ANALYSIS_BUDGET_CHECK_H
#define SEEP_ANALYSIS_BUDGET_CHECK_H

#include "analysis/baseline.h"
#include "analysis/budget.h"
#include "analysis/leak_sums.h"
#include "analysis/sites.h"
#include "base/idtable.h"

enum seep_budget_result {
	SEEP_BUDGET_KEPT,
	SEEP_BUDGET_BROKEN,
	SEEP_BUDGET_NOT_KNOWN,
	SEEP_BUDGET_RESULT_COUNT,
};

struct seep_budget_plan {
	struct seep_baseline *baseline; /* remembers what it was asked for */
	bool is_child;			/* it is one of the other processes of a run */
	bool is_alone;			/* those do not matter, recorded or not */
	bool widens; /* an estimate breaks a budget if it does so less its error; else it is not known */
};

/* A call stack with a part of what counts. */
struct seep_budget_stack {
	const struct seep_profile_context *context; /* NULL: its call stack is not here */
	const struct seep_profile_leak *leak;	    /* NULL: it is none */
	const struct seep_profile_finding *finding; /* made in that context; NULL: it is none */
	/* Of a leak in bytes, with what goes with it, whatever is measured; of a finding its count. */
	uint64_t value;
	struct seep_counts counts; /* of a leak what is lost as what lives */
	/* Of a known leak that grew: what the baseline has of it. 0: it is not known. */
	uint64_t known_blocks;
	uint64_t known_bytes;
};

struct seep_budget_outcome {
	enum seep_budget_result result;
	bool has_place;			  /* some call stack is of the place */
	uint64_t value;			  /* at least that */
	uint32_t grown_count;		  /* known leaks in it, which grew */
	uint64_t error;			  /* of value, and of base; 0: they are exact */
	uint64_t base;			  /* of the baseline */
	uint64_t limit;			  /* with the baseline's */
	struct seep_error why;		  /* of NOT_KNOWN */
	struct seep_budget_stack *stacks; /* largest first */
	uint32_t stack_count;
};

/* By what a leak, or what has grown of one, is off. It may be gone: it was off when there was most of it. */
uint64_t seep_budget_stack_error(const struct seep_budget_stack *stack);

/* The name of the program, "" where it is not known. */
const char *seep_budget_program(const struct seep_profile *profile);

/* Release what it returns with seep_budget_outcome_done(). Never fails. */
struct seep_budget_outcome seep_budget_check(const struct seep_budget *budget,
					     const struct seep_budget_side *side,
					     const struct seep_budget_plan *plan);
void seep_budget_outcome_done(struct seep_budget_outcome *outcome);

#endif
