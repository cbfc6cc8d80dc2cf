/* SPDX-License-Identifier: MIT */
#include "runtime/track/nodes.h"

#include "runtime/life/sys.h"
#include "runtime/life/tables.h"
#include "runtime/unwind/modules.h"

enum { PERIOD_MAX = 8, SET_FIRST = 1 << 12, REPEATS_MAX = UINT16_MAX };

/* A frame after folding. */
struct folded {
	uintptr_t ra;
	uint32_t exact;
	uint16_t repeats;
	uint8_t period;
	uint8_t spare;
};

/* A walk that could not be kept has up to twice the frames of one that was. */
enum { SCRATCH_FRAMES = RT_WALK_FRAMES_MAX * 2 };

static struct folded *scratch;
static struct rt_index_set nodes;

bool rt_index_reserve(struct rt_index_set *set)
{
	uint64_t size = set->entries ? (set->mask + 1) * 2 : SET_FIRST;
	uint64_t *entries, *old;

	if (set->entries && set->used * 3 < set->mask * 2)
		return true;
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

static void note_repeat(struct folded *frame, const struct folded *again, uint32_t period)
{
	uint32_t repeats = frame->repeats;

	if (frame->period == 0 || frame->period == period)
		repeats++;
	if (again->period)
		repeats = repeats > again->repeats ? repeats : again->repeats;
	frame->period = (uint8_t)period;
	frame->repeats = (uint16_t)(repeats < REPEATS_MAX ? repeats : REPEATS_MAX);
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
	for (uint32_t i = 0; i < length; i++) {
		bool exact;
		uintptr_t ra = rt_walk_address(walk, i, &exact);

		scratch[count++] = (struct folded){ .ra = ra, .exact = exact };
		if (i < known)
			continue;
		for (uint32_t period = 1; period <= PERIOD_MAX && period * 2 <= count; period++) {
			if (!repeats_at(scratch, count, period))
				continue;
			note_repeat(&scratch[count - period - 1], &scratch[count - 1], period);
			count -= period;
			if (count - 1 < *ret_plain)
				*ret_plain = count - 1;
			break;
		}
	}
	return count;
}

static uint64_t node_hash(uint32_t parent, uint32_t module, uint64_t address, uint32_t flags,
			  uint32_t period)
{
	uint64_t hash = core_hash_step(rt_global.seed, parent);

	hash = core_hash_step(hash, address);
	return core_hash_step(hash, (uint64_t)module << 16 | flags << 8 | period);
}

static void raise_repeats(struct ledger_node *node, uint16_t repeats)
{
	if (node->repeats < repeats)
		node->repeats = repeats;
}

/* The node of @frame under @parent; RT_NO_INDEX when the tables are full. */
static uint64_t enter(uint32_t parent, const struct folded *frame)
{
	uint64_t bias = 0;
	uint32_t module = rt_module_index(frame->ra - !frame->exact, &bias);
	uint64_t address = (frame->ra - bias) & ((1ull << 48) - 1);
	uint32_t flags = LEDGER_NODE_READY | (frame->exact ? LEDGER_NODE_EXACT : 0);
	uint64_t hash = node_hash(parent, module, address, flags, frame->period);
	uint64_t place = rt_index_place(hash);
	struct ledger_node *node;
	uint32_t candidate;
	uint64_t index;

	if (!rt_index_reserve(&nodes))
		return RT_NO_INDEX;
	while ((candidate = rt_index_next(&nodes, hash, &place)) != UINT32_MAX) {
		node = &rt_global.nodes[candidate];
		if (rt_load(&node->parent_ready) == parent + 1 && node->address == address &&
		    node->module == module && node->flags == flags &&
		    node->period == frame->period) {
			raise_repeats(node, frame->repeats);
			return candidate;
		}
	}
	index = rt_table_take(LEDGER_TABLE_NODES, 1);
	if (index == RT_NO_INDEX || index >= UINT32_MAX - 1)
		return RT_NO_INDEX;
	node = &rt_global.nodes[index];
	node->module = (uint16_t)module;
	node->flags = (uint8_t)flags;
	node->period = frame->period;
	node->address = address & ((1ull << 48) - 1);
	node->repeats = frame->repeats;
	rt_store_release(&node->parent_ready, parent + 1);
	rt_index_put(&nodes, hash, place, (uint32_t)index);
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

void rt_nodes_enter(struct rt_walk *walk, struct rt_path *ret_path)
{
	uint32_t depth_max = rt_global.header->depth_max;
	uint32_t known = depth_max ? 0 : known_frames(walk);
	uint32_t plain, count;
	uint32_t first = 0;
	uint64_t node = 0;

	*ret_path = (struct rt_path){ 0 };
	count = fold(walk, known, &plain);
	ret_path->folded = plain < rt_walk_length(walk);
	if (depth_max && count > depth_max) {
		first = count - depth_max;
		ret_path->cut = true;
	} else if (known) {
		first = known < plain ? known : plain;
		node = first ? walk->now->frames[first - 1].node : 0;
	}
	for (uint32_t i = first; i < count; i++) {
		node = enter((uint32_t)node, &scratch[i]);
		if (node == RT_NO_INDEX) {
			ret_path->full = true;
			return;
		}
		if (!depth_max && walk->stored && i < plain)
			walk->now->frames[i].node = (uint32_t)node;
	}
	ret_path->leaf = (uint32_t)node;
}

bool rt_nodes_start(void)
{
	if (!scratch)
		scratch = rt_mmap_sparse(SCRATCH_FRAMES * sizeof(*scratch));
	if (!scratch || rt_table_take(LEDGER_TABLE_NODES, 1) != 0)
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
