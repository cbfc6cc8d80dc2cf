/* SPDX-License-Identifier: MIT */
/*
 * Functions, each with what it allocated itself and what it and all it calls allocated.
 *
 * "Itself" belongs to the innermost function that is not plumbing: a std::vector that grows in
 * load_rows() is load_rows's own. Inclusive counts a function once per stack, however often
 * recursion repeats it there. Plumbing has inclusive figures, but nothing of its own unless the
 * whole stack is plumbing.
 */
#ifndef SEEP_ANALYSIS_FLAT_H
#define SEEP_ANALYSIS_FLAT_H

#include "analysis/counts.h"
#include "analysis/sites.h"

struct seep_flat_row {
	uint32_t frame;	 /* index of one frame of the function, for its name and file */
	uint32_t stacks; /* contexts that pass through it */
	bool plumbing;	 /* see function_name.h */
	int64_t self;	 /* in the measure */
	int64_t inclusive;
	double self_square; /* of their errors */
	double inclusive_square;
	int64_t blocks; /* those that belong to inclusive, see seep_counts_blocks() */
};

struct seep_flat {
	struct seep_flat_row unnamed; /* contexts without any frame */
	uint32_t count;
	struct seep_flat_row rows[]; /* by function number of the sites; stacks = 0: never met */
};

/**
 * seep_flat_new - sum by function
 * @inclusive: else only self is summed, which takes a look at the ends of stacks instead of a walk
 *             over all of their frames
 *
 * Never fails. Release with free().
 */
struct seep_flat *seep_flat_new(const struct seep_sites *sites, enum seep_measure measure,
				bool inclusive);

/**
 * seep_flat_top - the largest rows: by their own figures, then, where those are 0, by inclusive
 * ones
 * @whole:   plumbing that has nothing of its own, too
 * @top:     how many at most
 * @ret_top: row indexes, room for @top
 *
 * Returns: how many; rows with nothing at all are left out.
 */
uint32_t seep_flat_top(const struct seep_flat *flat, bool whole, uint32_t top, uint32_t *ret_top);

#endif
