/* SPDX-License-Identifier: MIT */
#include "profile/ledger_stacks.h"

#include "base/arena.h"
#include "base/xalloc.h"

#include <stdlib.h>
#include <string.h>

enum {
	VISITING = UINT32_MAX, /* in depths: on the path that is being measured */
	TABLE_MIN = 1024,
};

/* Open addressing over frame indices, growing at half full. */
struct frame_table {
	uint32_t *places; /* frame index + 1; 0 = free */
	uint64_t mask;
	struct seep_profile_frame *frames;
	size_t capacity;
	uint32_t count;
};

void seep_stacks_init(struct seep_stacks *stacks, const struct ledger_view *view,
		      struct seep_profile *profile, struct seep_arena *scratch)
{
	uint64_t count = view->count[LEDGER_TABLE_NODES];

	memset(stacks, 0, sizeof(*stacks));
	if (count >= VISITING)
		count = VISITING - 1;
	stacks->view = view;
	stacks->profile = profile;
	stacks->node_count = count;
	stacks->entries_max = seep_profile_stack_entries_max(count * sizeof(struct ledger_node) +
							     view->count[LEDGER_TABLE_CONTEXTS] *
								     sizeof(struct ledger_context));
	stacks->parents = seep_arena_calloc(scratch, count, sizeof(uint32_t));
	stacks->depths = seep_arena_calloc(scratch, count, sizeof(uint32_t));
	stacks->frames = seep_arena_calloc(scratch, count, sizeof(uint32_t));
	stacks->damaged = seep_arena_calloc(scratch, count, 1);
	stacks->table = seep_arena_calloc(scratch, 1, sizeof(*stacks->table));
	stacks->table->places = seep_xcalloc(TABLE_MIN, sizeof(uint32_t));
	stacks->table->mask = TABLE_MIN - 1;
}

void seep_stacks_done(struct seep_stacks *stacks)
{
	struct frame_table *table = stacks->table;
	struct seep_profile *profile = stacks->profile;

	profile->frames = seep_profile_calloc(profile, table->count, sizeof(*table->frames));
	if (table->count)
		memcpy(profile->frames, table->frames, table->count * sizeof(*table->frames));
	profile->frame_count = table->count;
	free(table->frames);
	free(table->places);
}

static uint64_t hash_frame(const struct seep_profile_frame *frame)
{
	uint64_t mixed = frame->address << 17 ^ (uint64_t)frame->module << 1 ^ frame->exact;

	mixed *= 0x9e3779b97f4a7c15ull;
	mixed ^= mixed >> 32;
	mixed *= 0xd6e8feb86659fd93ull;
	return mixed ^ mixed >> 32;
}

static bool same_frame(const struct seep_profile_frame *a, const struct seep_profile_frame *b)
{
	return a->address == b->address && a->module == b->module && a->exact == b->exact;
}

static void grow_places(struct frame_table *table)
{
	uint64_t mask = table->mask * 2 + 1;
	uint32_t *places = seep_xcalloc(mask + 1, sizeof(*places));

	for (uint32_t i = 0; i < table->count; i++) {
		uint64_t at = hash_frame(&table->frames[i]) & mask;

		while (places[at])
			at = (at + 1) & mask;
		places[at] = i + 1;
	}
	free(table->places);
	table->places = places;
	table->mask = mask;
}

/* Index of the one frame like @wanted. */
static uint32_t intern_frame(struct frame_table *table, const struct seep_profile_frame *wanted)
{
	uint64_t at = hash_frame(wanted) & table->mask;

	while (table->places[at]) {
		uint32_t index = table->places[at] - 1;

		if (same_frame(&table->frames[index], wanted))
			return index;
		at = (at + 1) & table->mask;
	}
	table->frames = seep_xgrow(table->frames, &table->capacity, (size_t)table->count + 1,
				   sizeof(*table->frames));
	table->frames[table->count] = *wanted;
	table->places[at] = ++table->count;
	if (table->count > table->mask / 2)
		grow_places(table);
	return table->count - 1;
}

static uint32_t node_frame(struct seep_stacks *stacks, uint32_t index,
			   const struct ledger_node *node)
{
	struct seep_profile_frame frame = { .address = node->address };

	if (stacks->frames[index])
		return stacks->frames[index] - 1;
	frame.module = node->module <= stacks->profile->module_count ? node->module : 0;
	frame.exact = (node->flags & LEDGER_NODE_EXACT) != 0;
	stacks->frames[index] = intern_frame(stacks->table, &frame) + 1;
	return stacks->frames[index] - 1;
}

/* The parent of @index, or 0 with *@damaged when it is not to be had or closes a loop. */
static uint32_t checked_parent(struct seep_stacks *stacks, uint32_t index, uint8_t *damaged)
{
	const struct ledger_node *node = ledger_view_node(stacks->view, index);
	uint32_t word = node ? atomic_load_explicit(&node->parent_ready, memory_order_acquire) : 0;

	if (word == 0 || word > stacks->node_count) {
		*damaged = 1;
		return 0;
	}
	if (word > 1 && stacks->depths[word - 1] == (uint32_t)VISITING) {
		*damaged = 1;
		return 0;
	}
	return word - 1;
}

/*
 * Depth of @leaf, and of every node on its path. Upwards: copy the parents, up to a node already
 * measured, or the root. Then once more, to hand out depths: each node is measured once.
 */
static uint32_t measure(struct seep_stacks *stacks, uint32_t leaf)
{
	uint32_t length = 0;
	uint32_t node = leaf;
	uint8_t damaged = 0;
	uint32_t depth;

	while (node != 0 && stacks->depths[node] == 0) {
		stacks->depths[node] = (uint32_t)VISITING;
		stacks->parents[node] = checked_parent(stacks, node, &damaged);
		node = stacks->parents[node];
		length++;
	}
	if (node != 0) {
		damaged |= stacks->damaged[node];
		length += stacks->depths[node];
	}
	depth = length;
	for (node = leaf; node != 0 && stacks->depths[node] == (uint32_t)VISITING;
	     node = stacks->parents[node]) {
		stacks->depths[node] = length--;
		stacks->damaged[node] = damaged;
	}
	return depth;
}

static uint32_t bounded_depth(struct seep_stacks *stacks, struct seep_profile_context *context,
			      uint32_t depth)
{
	if (stacks->entries + depth > stacks->entries_max && depth > SEEP_PROFILE_CUT_DEPTH) {
		stacks->entries_full = true;
		context->cut = true;
		depth = SEEP_PROFILE_CUT_DEPTH;
	}
	stacks->entries += depth;
	return depth;
}

bool seep_stacks_fill(struct seep_stacks *stacks, struct seep_profile_context *context,
		      uint32_t leaf)
{
	uint32_t depth;
	uint32_t node = leaf;

	if (leaf == 0)
		return true;
	if (leaf >= stacks->node_count)
		return false;
	depth = bounded_depth(stacks, context, measure(stacks, leaf));
	context->stack = seep_profile_calloc(stacks->profile, depth, sizeof(*context->stack));
	for (uint32_t i = 0; i < depth; i++, node = stacks->parents[node]) {
		const struct ledger_node *item = ledger_view_node(stacks->view, node);

		if (!item)
			break;
		context->stack[i].frame = node_frame(stacks, node, item);
		context->stack[i].period = item->period;
		context->stack[i].repeats = item->period ? (uint16_t)item->repeats : 0;
		context->stack_count++;
	}
	return !stacks->damaged[leaf];
}
