/* SPDX-License-Identifier: MIT */
/*
 * What grows and what is held too long: the answer in one line, then call stacks, GROWING ones
 * first, by their growth, each with what speaks for it.
 */
#ifndef SEEP_VIEW_GROWTH_VIEW_H
#define SEEP_VIEW_GROWTH_VIEW_H

#include "view/stacks_view.h"
#include "view/view.h"

struct seep_growing_stack {
	const struct seep_group *group;
	struct seep_profile_growth growth; /* of its contexts together */
	/* Its figures: "GROWING: +1.2 MB/min for 14 min, 0 of 3,100 blocks ever freed". */
	struct seep_stack_lines stack;
};

struct seep_growth_view {
	struct seep_groups *groups;
	struct seep_growing_stack *items;
	uint32_t count;
	uint32_t all; /* those beyond the top too */
};

/* The @top first; 0: all. Never fails. */
void seep_growth_view_init(struct seep_growth_view *growth, const struct seep_view *view,
			   uint32_t top);
void seep_growth_view_done(struct seep_growth_view *growth);

/*
 * The answer: "GROWING: 2 call stacks, 12 MB at +1.2 MB/min", that none did, or why nobody knows.
 * Release with free().
 */
char *seep_growth_answer(const struct seep_growth_view *growth, const struct seep_profile *profile);

#endif
