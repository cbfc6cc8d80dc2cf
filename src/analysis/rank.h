/* SPDX-License-Identifier: MIT */
/* The largest few of many, without sorting all. */
#ifndef SEEP_ANALYSIS_RANK_H
#define SEEP_ANALYSIS_RANK_H

#include <stddef.h>
#include <stdint.h>

struct seep_ranked {
	uint64_t value;
	uint64_t tie;	/* equal values: the smaller tie first, so that runs print alike */
	uint32_t index; /* what this stands for; the last tie-breaker */
};

/*
 * Move the @top largest to the front, in descending order; what follows them is in no order.
 * O(count log top) at worst.
 *
 * Returns: how many were ordered: the smaller of @count and @top.
 */
size_t seep_rank_top(struct seep_ranked *items, size_t count, size_t top);

#endif
