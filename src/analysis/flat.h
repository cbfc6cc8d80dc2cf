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
	struct seep_counts self;
	struct seep_counts inclusive;
};

struct seep_flat {
	struct seep_flat_row *rows; /* by function number of the sites; stacks = 0: never met */
	uint32_t count;
	struct seep_counts total;   /* of all contexts, those that were left out too */
	struct seep_counts unnamed; /* of contexts without any frame */
};

/* Linear in the frames of all stacks. Never fails. */
struct seep_flat *seep_flat_new(const struct seep_sites *sites);

/* NULL is a no-op. */
void seep_flat_free(struct seep_flat *flat);

/**
 * seep_flat_top - the largest rows: by their own figures, then, where those are 0, by inclusive ones
 * @whole:   plumbing that has nothing of its own, too
 * @top:     how many at most
 * @ret_top: row indexes, room for @top
 *
 * Returns: how many; rows with nothing at all are left out.
 */
uint32_t seep_flat_top(const struct seep_flat *flat, enum seep_measure measure, bool whole,
		       uint32_t top, uint32_t *ret_top);

#endif
