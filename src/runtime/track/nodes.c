/* SPDX-License-Identifier: MIT */
#include "runtime/track/nodes.h"

#include "runtime/sys/sys.h"
#include "runtime/sys/tables.h"
#include "runtime/unwind/modules.h"

enum { PERIOD_MAX = 8, SET_FIRST = 1 << 8, FOLDED_MAX = UINT16_MAX };

/* A frame after folding. */
struct folded {
	uintptr_t ra;
	uint32_t
		last; /* the frame of the walk that it stands for last, counted from the outermost */
	uint8_t exact;
	uint8_t period;
};

/* For one walk at a time, under the slow lock. */
static struct folded *scratch;
static uint32_t scratch_frames;
static struct rt_index_set nodes;

/* Room for a walk of @count frames; false: no memory. */
static bool reserve_scratch(uint32_t count)
{
	uint32_t frames = LEDGER_PAGE_BYTES / sizeof(*scratch);
	struct folded *larger, *old = scratch;

	if (RT_LIKELY(count <= scratch_frames))
		return true;
	while (frames < count)
		frames *= 2;
	larger = rt_mmap(frames * sizeof(*larger));
	if (!larger)
		return false;
	scratch = larger;
	atomic_signal_fence(memory_order_seq_cst);
	rt_munmap(old, scratch_frames * sizeof(*old));
	scratch_frames = frames;
	return true;
}

bool rt_index_grow(struct rt_index_set *set)
{
	uint64_t size = set->entries ? (set->mask + 1) * 2 : SET_FIRST;
	uint64_t *entries, *old;

	entries = rt_mmap(size * sizeof(*entries));
	if (!entries)
		return false;
	for (uint64_t i = 0; set->entries && i <= set->mask; i++) {
		uint64_t place;

		if (!set->entries[i])
			continue;
		place = rt_index_place(set->entries[i]);
		while (entries[place & (size - 1)])
			place++;
		entries[place & (size - 1)] = set->entries[i];
	}
	/* The larger one first: left by longjmp in between, the set is whole but for a few. */
	old = set->entries;
	set->entries = entries;
	atomic_signal_fence(memory_order_seq_cst);
	set->mask = size - 1;
	atomic_signal_fence(memory_order_seq_cst);
	rt_munmap(old, size / 2 * sizeof(*entries));
	return true;
}

static bool same_frame(const struct folded *a, const struct folded *b)
{
	return a->ra == b->ra && a->exact == b->exact;
}

/* The last @period frames of out[0..count) equal the @period before them. */
static bool repeats_at(const struct folded *out, uint32_t count, uint32_t period)
{
	for (uint32_t i = 1; i <= period; i++)
		if (!same_frame(&out[count - i], &out[count - period - i]))
			return false;
	return true;
}

/* The least period at which the last frames of out[0..count) repeat; 0: they do not. */
static uint32_t period_of(const struct folded *out, uint32_t count)
{
	const uint32_t most = count / 2 < PERIOD_MAX ? count / 2 : PERIOD_MAX;
	const struct folded *last = &out[count - 1];

	for (uint32_t period = 1; period <= most; period++)
		if (RT_UNLIKELY(same_frame(last, last - period)) && repeats_at(out, count, period))
			return period;
	return 0;
}

/* The last @period frames of out[0..count) come again: those before stand for them too. */
static void fold_tail(struct folded *out, uint32_t count, uint32_t period)
{
	for (uint32_t i = 1; i <= period; i++)
		out[count - period - i].last = out[count - i].last;
	out[count - period - 1].period = (uint8_t)period;
}

/*
 * Fold the walk into scratch, outermost first: whenever the last p frames equal the p before
 * them, they are dropped and the innermost of those that stay is marked. The first @known frames
 * are known not to fold among themselves. @ret_plain: so many stand as they came.
 */
static uint32_t fold(const struct rt_walk *walk, uint32_t known, uint32_t *ret_plain)
{
	uint32_t length = rt_walk_length(walk);
	uint32_t count = 0;

	*ret_plain = length;
	for (; count < known; count++)
		scratch[count] = (struct folded){ .ra = walk->now->frames[count].ra,
						  .last = count };
	for (uint32_t i = known; i < length; i++) {
		bool exact;
		uintptr_t ra = rt_walk_address(walk, i, &exact);
		uint32_t period;

		scratch[count++] = (struct folded){ .ra = ra, .last = i, .exact = exact };
		period = period_of(scratch, count);
		if (RT_LIKELY(period == 0))
			continue;
		fold_tail(scratch, count, period);
		count -= period;
		if (count - 1 < *ret_plain)
			*ret_plain = count - 1;
	}
	return count;
}

#define ADDRESS_MASK ((1ull << 48) - 1)

/* A frame on its way into the tree. */
struct new_node {
	uint64_t
		hash; /* of the path up to here, so that all places are known before the first look */
	uint64_t address;
	uint32_t module;
	uint32_t flags;
};

/* As many look-ups are under way at once. */
enum { NEW_NODES = 16 };

static uint64_t prepare(struct new_node *new_node, const struct folded *frame, uint64_t parent_hash)
{
	uint64_t bias = 0;
	uint64_t hash;

	new_node->module = rt_module_index(frame->ra - !frame->exact, &bias);
	new_node->address = (frame->ra - bias) & ADDRESS_MASK;
	new_node->flags = LEDGER_NODE_READY | (frame->exact ? LEDGER_NODE_EXACT : 0);
	hash = core_hash_step(parent_hash, new_node->address);
	hash = core_hash_step(hash, (uint64_t)new_node->module << 16 | new_node->flags << 8 |
					    frame->period);
	new_node->hash = hash;
	if (nodes.entries)
		__builtin_prefetch(&nodes.entries[rt_index_place(hash) & nodes.mask]);
	return hash;
}

/*
 * Frames of the walk that folding took out up to scratch[at], @cut of them among those not stored.
 */
static uint16_t folded_frames(uint32_t at, uint32_t cut)
{
	const uint32_t frames = scratch[at].last - at - cut;

	return (uint16_t)(frames < FOLDED_MAX ? frames : FOLDED_MAX);
}

/*
 * The node of @frame under @parent, with @folded frames taken out up to it; RT_NO_INDEX when the
 * tables are full.
 */
static uint64_t add_node(uint32_t parent, const struct folded *frame,
			 const struct new_node *new_node, uint16_t folded)
{
	uint64_t place = rt_index_place(new_node->hash);
	struct ledger_node *node;
	uint32_t candidate;
	uint64_t index;

	if (!rt_index_reserve(&nodes))
		return RT_NO_INDEX;
	while ((candidate = rt_index_next(&nodes, new_node->hash, &place)) != UINT32_MAX) {
		node = &rt_global.nodes[candidate];
		if (rt_load(&node->parent_ready) == parent + 1 &&
		    node->address == new_node->address && node->module == new_node->module &&
		    node->flags == new_node->flags && node->period == frame->period) {
			if (node->folded < folded)
				node->folded = folded;
			return candidate;
		}
	}
	index = rt_table_take(LEDGER_TABLE_NODES, 1);
	if (index == RT_NO_INDEX || index >= UINT32_MAX - 1)
		return RT_NO_INDEX;
	node = &rt_global.nodes[index];
	node->module = (uint16_t)new_node->module;
	node->flags = (uint8_t)new_node->flags;
	node->period = frame->period;
	node->address = new_node->address & ADDRESS_MASK;
	node->folded = folded;
	rt_store_release(&node->parent_ready, parent + 1);
	rt_index_put(&nodes, new_node->hash, place, (uint32_t)index);
	return index;
}

/* Of the remembered outer frames, how many have their node noted. They are plain. */
static uint32_t known_frames(const struct rt_walk *walk)
{
	uint32_t known = walk->stored ? walk->now->count : walk->base;

	while (known && !walk->now->frames[known - 1].node)
		known--;
	return known;
}

/* Where in the tree: a node, and the hash of its path. */
struct branch {
	uint64_t node;
	uint64_t hash;
};

/* Add scratch[first] to scratch[end - 1] at @at; note the nodes of the first @noted frames. */
static struct branch add_some(struct rt_walk *walk, struct branch at, uint32_t first, uint32_t end,
			      uint32_t noted, uint32_t cut)
{
	struct new_node new_nodes[NEW_NODES];

	for (uint32_t i = first; i < end; i++)
		at.hash = prepare(&new_nodes[i - first], &scratch[i], at.hash);
	for (uint32_t i = first; i < end; i++) {
		at.node = add_node((uint32_t)at.node, &scratch[i], &new_nodes[i - first],
				   folded_frames(i, cut));
		if (at.node == RT_NO_INDEX)
			break;
		if (i < noted) {
			walk->now->frames[i].node_hash = new_nodes[i - first].hash;
			walk->now->frames[i].node = (uint32_t)at.node;
		}
	}
	return at;
}

void rt_nodes_add(struct rt_walk *walk, struct rt_path *ret_path)
{
	uint32_t depth_max = rt_global.header->depth_max;
	uint32_t known = depth_max ? 0 : known_frames(walk);
	struct branch at = { .hash = rt_global.seed };
	uint32_t plain, count;
	uint32_t first = 0, cut = 0;

	*ret_path = (struct rt_path){ 0 };
	if (!reserve_scratch(rt_walk_length(walk))) {
		ret_path->full = true;
		return;
	}
	count = fold(walk, known, &plain);
	ret_path->folded = plain < rt_walk_length(walk);
	if (depth_max && count > depth_max) {
		first = count - depth_max;
		cut = scratch[first - 1].last - (first - 1);
		ret_path->cut = true;
	} else if (known) {
		first = known < plain ? known : plain;
	}
	if (!ret_path->cut && first) {
		at.node = walk->now->frames[first - 1].node;
		at.hash = walk->now->frames[first - 1].node_hash;
	}
	for (uint32_t end; first < count; first = end) {
		end = count - first < NEW_NODES ? count : first + NEW_NODES;
		at = add_some(walk, at, first, end, depth_max || !walk->stored ? 0 : plain, cut);
		if (at.node == RT_NO_INDEX) {
			ret_path->full = true;
			return;
		}
	}
	ret_path->leaf = (uint32_t)at.node;
}

bool rt_nodes_start(void)
{
	if (!reserve_scratch(1) || rt_table_take(LEDGER_TABLE_NODES, 1) != 0)
		return false;
	rt_global.nodes[0].flags = LEDGER_NODE_READY;
	rt_store_release(&rt_global.nodes[0].parent_ready, 1);
	return true;
}

void rt_nodes_forked(void)
{
	rt_munmap(nodes.entries, (nodes.mask + 1) * sizeof(*nodes.entries));
	nodes = (struct rt_index_set){ 0 };
}
