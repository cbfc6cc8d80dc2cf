/* SPDX-License-Identifier: MIT */
/*
 * Contexts that a reader could not tell apart, summed: same kind, thread, scope, and the same
 * functions and lines all the way out (the addresses may differ: an unrolled loop, two copies of
 * an inlined call).
 */
#ifndef SEEP_ANALYSIS_GROUP_H
#define SEEP_ANALYSIS_GROUP_H

#include "analysis/counts.h"
#include "analysis/sites.h"

struct seep_group {
	uint32_t context; /* index of the first of them: its stack stands for all */
	uint32_t context_count;
	struct seep_counts counts;
};

struct seep_groups {
	struct seep_group *items;
	uint32_t count;
	struct seep_counts total; /* of all contexts */
};

/* Sum all contexts of sites->profile. Linear. Never fails. */
struct seep_groups *seep_groups_new(const struct seep_sites *sites);

/* NULL is a no-op. */
void seep_groups_free(struct seep_groups *groups);

/**
 * seep_groups_top - the largest groups by @measure, in descending order
 * @top:     how many at most
 * @ret_top: their indexes, room for @top
 *
 * Groups whose value is 0 are left out. Equal values are ordered by the contexts' hash, so that
 * two runs list them alike.
 *
 * Returns: how many were found.
 */
uint32_t seep_groups_top(const struct seep_groups *groups, const struct seep_profile *profile,
			 enum seep_measure measure, uint32_t top, uint32_t *ret_top);

#endif
