/* SPDX-License-Identifier: MIT */
/*
 * From the ledger's tree of nodes to the profile's frames and stacks. Used by the loader only.
 *
 * Nodes are hostile: parents are copied once and checked, a loop is cut where it closes, and a
 * node that is not published ends its stack; either marks the stack as damaged.
 */
#ifndef SEEP_PROFILE_LEDGER_STACKS_H
#define SEEP_PROFILE_LEDGER_STACKS_H

#include "ledger/ledger_view.h"
#include "profile/profile.h"

#include <stdbool.h>
#include <stdint.h>

struct seep_stacks {
	const struct ledger_view *view;
	struct seep_profile *profile;
	uint32_t *parents; /* by node; 0 = root; valid where depths is not 0 */
	uint32_t *depths;  /* by node; 0 = not met yet */
	uint32_t *frames;  /* by node: frame index + 1; 0 = not met yet */
	uint8_t *damaged;  /* by node: the path to the root is not whole */
	uint64_t node_count;
	uint64_t entries; /* stack entries handed out */
	uint64_t entries_max;
	bool entries_full;
	struct frame_table *table;
};

struct seep_arena;

/* profile->modules must be loaded. @scratch must outlive @stacks. */
void seep_stacks_init(struct seep_stacks *stacks, const struct ledger_view *view,
		      struct seep_profile *profile, struct seep_arena *scratch);

/**
 * seep_stacks_fill - give @context the stack that ends in node @leaf
 *
 * Sets stack and stack_count; cut when frames were left out because the profile is at its
 * ceiling.
 *
 * Returns: false when the path was damaged; the part that could be read is there.
 */
bool seep_stacks_fill(struct seep_stacks *stacks, struct seep_profile_context *context,
		      uint32_t leaf);

/* Release what is not in the scratch arena, and fit profile->frames. */
void seep_stacks_done(struct seep_stacks *stacks);

#endif
