/* SPDX-License-Identifier: MIT */
/*
 * Contexts that a reader could not tell apart, summed: same kind, thread if asked for, and
 * the same functions and lines all the way out. The addresses may differ (an unrolled loop, two
 * copies of an inlined call), and so may how deep a recursion went.
 */
#ifndef SEEP_ANALYSIS_GROUP_H
#define SEEP_ANALYSIS_GROUP_H

#include "analysis/counts.h"
#include "analysis/sites.h"
#include "base/arena.h"

struct seep_group {
	uint32_t context;	/* index of the first of them: kind, thread and flags are its own */
	uint32_t context_count; /* the others follow in seep_groups.next */
	uint32_t stack_count;
	/* The one with the deepest recursion, folded. */
	const struct seep_profile_stack_entry *stack;
	struct seep_counts counts;
};

struct seep_groups {
	struct seep_group *items;
	uint32_t count;
	uint32_t *next;		   /* by context: the next one of its group; of the last itself */
	struct seep_arena *stacks; /* those that are no context's own, and errors */
};

/*
 * Sum all contexts of sites->profile that are not hidden. @fold: recursion by line; else only what the ledger folded.
 * @by_thread: those of different threads are told apart. Linear. Never fails.
 */
struct seep_groups *seep_groups_new(const struct seep_sites *sites, bool fold, bool by_thread);

/*
 * The contexts of @group as one: the first with the figures, epochs and growth of all, and the scope
 * if that is the same. What it does
 * not share with that is @arena's; NULL: it has that one's epochs, and nobody knows of growth.
 */
struct seep_profile_context seep_group_context(const struct seep_groups *groups,
					       const struct seep_profile *profile,
					       const struct seep_group *group,
					       struct seep_arena *arena);

/* Leave @profile, which is sites->profile, a context for each group of a thread and scope. */
void seep_groups_merge(struct seep_profile *profile, const struct seep_sites *sites);

/* NULL is a no-op. */
void seep_groups_free(struct seep_groups *groups);
SEEP_FREE_AT(struct seep_groups, seep_groups_free)

/**
 * seep_groups_top - the largest groups by @measure, in descending order
 * @top:     how many at most
 * @ret_top: their indexes, room for @top
 *
 * Groups whose value is 0 are left out. Equal values are ordered by the contexts' hash, so that
 * two runs list them alike.
 *
 * Returns: how many there are, those beyond @top too.
 */
uint32_t seep_groups_top(const struct seep_groups *groups, const struct seep_profile *profile,
			 enum seep_measure measure, uint32_t top, uint32_t *ret_top);

#endif
