/* SPDX-License-Identifier: MIT */
/* The largest few of many, without sorting all. */
#ifndef SEEP_ANALYSIS_RANK_H
#define SEEP_ANALYSIS_RANK_H

#include "analysis/counts.h"

#include <stddef.h>
#include <stdint.h>

struct seep_ranked {
	int64_t value;
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

/* The same; their indices at @ret_order. @items, from malloc(), is released. */
uint32_t seep_rank_order(struct seep_ranked *items, size_t count, uint32_t top,
			 uint32_t *ret_order);

/* The @top largest contexts, in descending order: their indices at @ret_order. Returns how many. */
uint32_t seep_rank_contexts(const struct seep_profile *profile, enum seep_measure measure,
			    uint32_t top, uint32_t *ret_order);

#endif
