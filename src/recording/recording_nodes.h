/* SPDX-License-Identifier: MIT */
/* Stacks as a tree: what contexts share near the root is stored once. Used by the writer. */
#ifndef SEEP_RECORDING_RECORDING_NODES_H
#define SEEP_RECORDING_RECORDING_NODES_H

#include "profile/profile.h"

#include <stdint.h>

struct seep_recording_node {
	uint32_t parent; /* id; 0 = none */
	uint32_t frame;	 /* index into profile.frames */
	uint16_t repeats;
	uint8_t period;
};

/* Node ids are index + 1, parents before children. */
struct seep_recording_nodes {
	struct seep_recording_node *nodes;
	size_t capacity;
	uint32_t count;
	uint32_t *places; /* hash table: id, 0 = free */
	uint64_t mask;
	uint32_t *path; /* ids of the last stack, outermost first */
	size_t path_capacity;
	uint32_t path_count;
};

void seep_recording_nodes_init(struct seep_recording_nodes *nodes);
void seep_recording_nodes_done(struct seep_recording_nodes *nodes);

/**
 * seep_recording_nodes_add - the node of a whole stack
 * @ret_leaf: its id; 0 for an empty stack
 *
 * Returns: 0, or -SEEP_ELIMIT at 2^31 nodes.
 */
SEEP_NODISCARD int seep_recording_nodes_add(struct seep_recording_nodes *nodes,
					    const struct seep_profile_stack_entry *stack,
					    uint32_t count, uint32_t *ret_leaf,
					    struct seep_error *err);

#endif
