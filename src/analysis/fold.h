/* SPDX-License-Identifier: MIT */
/*
 * Recursion as a reader sees it. The ledger folds calls that repeat address by address; here two
 * calls from one line, or of one function, count as the same, and what the ledger could not fold
 * because the addresses alternated becomes one line.
 */
#ifndef SEEP_ANALYSIS_FOLD_H
#define SEEP_ANALYSIS_FOLD_H

#include "analysis/sites.h"

enum seep_fold_by { SEEP_FOLD_BY_LINE, SEEP_FOLD_BY_FUNCTION };

enum {
	SEEP_FOLD_PERIOD_MAX = 8,
	SEEP_FOLD_REPEATS_MAX = 65535, /* this many or more */
};

/**
 * seep_fold - fold what repeats, periods 1 to 8
 * @stack, @count: innermost first, as in a context; folded in part already
 * @ret_stack:     room for @count
 *
 * A folded entry stands for itself and the period - 1 outside of it. Where what is folded holds folds
 * already, their frames count too, so that the stack is as deep as it was.
 *
 * Returns: the number of entries written; equal to @count when there was nothing to fold.
 */
uint32_t seep_fold(const struct seep_sites *sites, enum seep_fold_by by,
		   const struct seep_profile_stack_entry *stack, uint32_t count,
		   struct seep_profile_stack_entry *ret_stack);

/* Whether the two folded stacks are the same to a reader, repeats aside. */
bool seep_fold_equal(const struct seep_sites *sites, enum seep_fold_by by,
		     const struct seep_profile_stack_entry *a, uint32_t a_count,
		     const struct seep_profile_stack_entry *b, uint32_t b_count);

/* Frames that are not there because of folds. */
uint64_t seep_fold_frames(const struct seep_profile_stack_entry *stack, uint32_t count);

/* Let @known, which may have no fold, show the deeper recursion of the two. */
void seep_fold_deepen(struct seep_profile_stack_entry *known,
		      const struct seep_profile_stack_entry *other);

/* What @by compares. */
static inline uint32_t seep_fold_id(const struct seep_sites *sites, enum seep_fold_by by,
				    uint32_t frame)
{
	const struct seep_site *site = &sites->of_frame[frame];

	return by == SEEP_FOLD_BY_LINE ? site->line : site->function;
}

#endif
