/* SPDX-License-Identifier: MIT */
/*
 * Stacks as a tree whose edges are pieces of stacks: what contexts share near the root is stored
 * once, and a row is written for each fork instead of each frame. Used by the writer.
 */
#ifndef SEEP_RECORDING_RECORDING_SEGMENTS_H
#define SEEP_RECORDING_RECORDING_SEGMENTS_H

#include "profile/profile.h"

#include <stdint.h>

struct seep_recording_segment {
	const struct seep_profile_stack_entry *entries; /* innermost first; a context's own */
	uint32_t count;					/* of entries; never 0 */
	uint32_t parent;				/* index + 1; 0 = none */
	uint32_t id; /* set by seep_recording_segments_number() */
};

/* Where a segment of the last stack ends, counted from the root. */
struct seep_recording_step {
	uint32_t segment; /* index + 1 */
	uint32_t end;
};

struct seep_recording_segments {
	struct seep_recording_segment *items;
	size_t capacity;
	uint32_t count;
	uint32_t *places; /* hash table: index + 1, 0 = free */
	uint64_t mask;
	struct seep_recording_step *path; /* of the last stack, outermost first */
	size_t path_capacity;
	uint32_t path_count;
	const struct seep_profile_stack_entry *last; /* the last stack */
	uint32_t last_count;
};

void seep_recording_segments_init(struct seep_recording_segments *segments);
void seep_recording_segments_done(struct seep_recording_segments *segments);

/**
 * seep_recording_segments_add - enter a whole stack
 * @stack:    kept, not copied
 * @ret_leaf: index + 1 of the segment that ends in its innermost frame; 0 for an empty stack.
 *            Stays right whatever is entered later.
 *
 * Returns: 0, or -SEEP_ELIMIT at 2^31 segments.
 */
SEEP_NODISCARD int seep_recording_segments_add(struct seep_recording_segments *segments,
					       const struct seep_profile_stack_entry *stack,
					       uint32_t count, uint32_t *ret_leaf,
					       struct seep_error *err);

/**
 * seep_recording_segments_number - set ids: 1, 2, 3 ..., parents before children
 *
 * When all stacks are entered. Returns the segments' indices in the order of their ids; release
 * with free().
 */
uint32_t *seep_recording_segments_number(struct seep_recording_segments *segments);

#endif
