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

/* Folds one stack after the other. Begins with sites and by alone. */
struct seep_folder {
	const struct seep_sites *sites;
	enum seep_fold_by by;
	struct seep_profile_stack_entry *room;
	uint32_t *ids; /* what is compared, by place in room */
	size_t room_capacity;
	size_t id_capacity;
};

void seep_folder_done(struct seep_folder *folder);

/**
 * seep_fold - fold what repeats, periods 1 to 8
 * @stack: innermost first, as in a context, folded in part already; where something folds, it
 *         points to the folder's own memory afterwards, which holds until the next call
 *
 * A folded entry stands for itself and the period - 1 outside of it. Where what is folded holds
 * folds already, their frames count too, so that the stack is as deep as it was.
 *
 * Returns: the number of entries of the folded stack.
 */
uint32_t seep_fold(struct seep_folder *folder, const struct seep_profile_stack_entry **stack,
		   uint32_t count);

/* Frames that are not there because of folds. */
uint64_t seep_fold_frames(const struct seep_profile_stack_entry *stack, uint32_t count);

#endif
