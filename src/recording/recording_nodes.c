/* SPDX-License-Identifier: MIT */
#include "recording/recording_nodes.h"

#include "base/xalloc.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { PLACES_MIN = 4096 };

#define NODES_MAX (1u << 31)

void seep_recording_nodes_init(struct seep_recording_nodes *nodes)
{
	memset(nodes, 0, sizeof(*nodes));
	nodes->places = seep_xcalloc(PLACES_MIN, sizeof(*nodes->places));
	nodes->mask = PLACES_MIN - 1;
}

void seep_recording_nodes_done(struct seep_recording_nodes *nodes)
{
	free(nodes->nodes);
	free(nodes->places);
	free(nodes->path);
}

static uint64_t hash_node(const struct seep_recording_node *node)
{
	uint64_t mixed = (uint64_t)node->parent << 32 | node->frame;

	mixed ^= (uint64_t)node->period << 56 ^ (uint64_t)node->repeats << 40;
	mixed *= 0x9e3779b97f4a7c15ull;
	mixed ^= mixed >> 32;
	mixed *= 0xd6e8feb86659fd93ull;
	return mixed ^ mixed >> 32;
}

static bool same_node(const struct seep_recording_node *a, const struct seep_recording_node *b)
{
	return a->parent == b->parent && a->frame == b->frame && a->period == b->period &&
	       a->repeats == b->repeats;
}

static void grow_places(struct seep_recording_nodes *nodes)
{
	uint64_t mask = nodes->mask * 2 + 1;
	uint32_t *places = seep_xcalloc(mask + 1, sizeof(*places));

	for (uint32_t i = 0; i < nodes->count; i++) {
		uint64_t at = hash_node(&nodes->nodes[i]) & mask;

		while (places[at])
			at = (at + 1) & mask;
		places[at] = i + 1;
	}
	free(nodes->places);
	nodes->places = places;
	nodes->mask = mask;
}

static uint32_t intern(struct seep_recording_nodes *nodes, const struct seep_recording_node *wanted)
{
	uint64_t at = hash_node(wanted) & nodes->mask;

	while (nodes->places[at]) {
		if (same_node(&nodes->nodes[nodes->places[at] - 1], wanted))
			return nodes->places[at];
		at = (at + 1) & nodes->mask;
	}
	nodes->nodes = seep_xgrow(nodes->nodes, &nodes->capacity, (size_t)nodes->count + 1,
				  sizeof(*nodes->nodes));
	nodes->nodes[nodes->count] = *wanted;
	nodes->places[at] = ++nodes->count;
	if (nodes->count > nodes->mask / 2)
		grow_places(nodes);
	return nodes->count;
}

/* The node at place @i of the last stack, if it is the one that is wanted again. */
static bool is_on_path(const struct seep_recording_nodes *nodes, uint32_t i,
		       const struct seep_recording_node *wanted)
{
	return i < nodes->path_count && same_node(&nodes->nodes[nodes->path[i] - 1], wanted);
}

int seep_recording_nodes_add(struct seep_recording_nodes *nodes,
			     const struct seep_profile_stack_entry *stack, uint32_t count,
			     uint32_t *ret_leaf, struct seep_error *err)
{
	struct seep_recording_node node = { 0 };

	if (nodes->count >= NODES_MAX - count)
		return seep_fail(err, SEEP_ELIMIT, "more than %u nodes in the tree of stacks",
				 NODES_MAX);
	nodes->path = seep_xgrow(nodes->path, &nodes->path_capacity, (size_t)count + 1,
				 sizeof(*nodes->path));
	for (uint32_t i = 0; i < count; i++) {
		const struct seep_profile_stack_entry *entry = &stack[count - 1 - i];

		node.frame = entry->frame;
		node.period = entry->period;
		node.repeats = entry->repeats;
		if (!is_on_path(nodes, i, &node))
			nodes->path[i] = intern(nodes, &node);
		node.parent = nodes->path[i];
	}
	nodes->path_count = count;
	*ret_leaf = node.parent;
	return 0;
}
