/* SPDX-License-Identifier: MIT */
#include "runtime/track/nodes.h"

#include "runtime/sys/sys.h"
#include "runtime/sys/tables.h"
#include "core/stack_hash.h"
#include "runtime/track/break.h"
#include "runtime/unwind/modules.h"

enum { PERIOD_MAX = 8, FOLDED_MAX = UINT16_MAX };

rt_memo rt_entered;

void rt_entered_put(uint64_t hash, uint64_t value)
{
	rt_memo_put(&rt_entered, hash, value, 0, UINT64_MAX);
}

/* A frame after folding. */
struct folded {
	uintptr_t ra;
	uint32_t
		last; /* the frame of the walk that it stands for last, counted from the outermost */
	uint8_t exact;
	uint8_t period;
};

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

struct room {
	struct new_node new_nodes[NEW_NODES];
	struct folded frames[];
};

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
 * Fold the walk into @frames, outermost first: whenever the last p frames equal the p before
 * them, they are dropped and the innermost of those that stay is marked. The first @known frames
 * are known not to fold among themselves. @ret_plain: so many stand as they came.
 */
static uint32_t fold(const struct rt_walk *walk, uint32_t known, struct folded *frames,
		     uint32_t *ret_plain)
{
	uint32_t length = rt_walk_length(walk);
	uint32_t count = 0;

	*ret_plain = length;
	for (; count < known; count++)
		frames[count] = (struct folded){ .ra = walk->now->frames[count].ra, .last = count };
	for (uint32_t i = known; i < length; i++) {
		bool exact;
		uintptr_t ra = rt_walk_address(walk, i, &exact);
		uint32_t period;

		frames[count++] = (struct folded){ .ra = ra, .last = i, .exact = exact };
		period = period_of(frames, count);
		if (RT_LIKELY(period == 0))
			continue;
		fold_tail(frames, count, period);
		count -= period;
		if (count - 1 < *ret_plain)
			*ret_plain = count - 1;
	}
	return count;
}

#define ADDRESS_MASK ((1ull << 48) - 1)

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
	rt_memo_prefetch(&rt_entered, hash);
	return hash;
}

/*
 * Frames of the walk that folding took out up to @frame, the @at-th, @cut of them among those not
 * stored.
 */
static uint16_t folded_frames(const struct folded *frame, uint32_t at, uint32_t cut)
{
	const uint32_t frames = frame->last - at - cut;

	return (uint16_t)(frames < FOLDED_MAX ? frames : FOLDED_MAX);
}

/*
 * The node of @frame under @parent, with @folded frames taken out up to it; RT_NO_INDEX when the
 * tables are full. Threads that meet a frame at once may each add it: readers take these for one.
 */
static uint64_t add_node(uint32_t parent, const struct folded *frame,
			 const struct new_node *new_node, uint16_t folded)
{
	uint64_t index = rt_memo_find(&rt_entered, new_node->hash);
	struct ledger_node *node;

	if (index) {
		node = &rt_global.nodes[index - 1];
		if (node->folded < folded)
			node->folded = folded;
		return index - 1;
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
	rt_entered_put(new_node->hash, index + 1);
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

/* Add frames [@first, @end) of @room at @at; note the nodes of the first @noted frames. */
static struct branch add_some(struct rt_walk *walk, struct room *room, struct branch at,
			      uint32_t first, uint32_t end, uint32_t noted, uint32_t cut)
{
	for (uint32_t i = first; i < end; i++)
		at.hash = prepare(&room->new_nodes[i - first], &room->frames[i], at.hash);
	for (uint32_t i = first; i < end; i++) {
		const struct new_node *new_node = &room->new_nodes[i - first];

		at.node = add_node((uint32_t)at.node, &room->frames[i], new_node,
				   folded_frames(&room->frames[i], i, cut));
		if (at.node == RT_NO_INDEX)
			break;
		if (i < noted) {
			walk->now->frames[i].node_hash = new_node->hash;
			walk->now->frames[i].node = (uint32_t)at.node;
		}
	}
	return at;
}

static uint64_t hash_stack(const struct folded *frames, uint32_t count, uint8_t kind)
{
	uint64_t hash = core_stack_hash_begin(kind);

	for (uint32_t i = 0; i < count; i++) {
		const uintptr_t pc = frames[i].ra - !frames[i].exact;
		const char *name;
		const size_t bytes = rt_module_name(pc, &name);
		uint64_t bias = 0;

		(void)rt_module_index(pc, &bias);
		hash = core_stack_hash_frame(hash, name, bytes,
					     (frames[i].ra - bias) & ADDRESS_MASK);
	}
	return hash;
}

static void add_all(struct rt_walk *walk, uint8_t kind, struct room *room, struct rt_path *ret_path)
{
	uint32_t depth_max = rt_header.depth_max;
	uint32_t known = depth_max ? 0 : known_frames(walk);
	struct branch at = { .hash = rt_global.seed };
	uint32_t plain, count;
	uint32_t first = 0, cut = 0;

	count = fold(walk, known, room->frames, &plain);
	ret_path->folded = plain < rt_walk_length(walk);
	if (RT_UNLIKELY(rt_break.hash))
		ret_path->stack_hash = hash_stack(room->frames, count, kind);
	if (depth_max && count > depth_max) {
		first = count - depth_max;
		cut = room->frames[first - 1].last - (first - 1);
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
		at = add_some(walk, room, at, first, end, depth_max || !walk->stored ? 0 : plain,
			      cut);
		if (at.node == RT_NO_INDEX) {
			ret_path->full = true;
			return;
		}
	}
	ret_path->leaf = (uint32_t)at.node;
}

void rt_nodes_add(struct rt_walk *walk, uint8_t kind, struct rt_path *ret_path)
{
	struct room *room =
		rt_scratch_take(sizeof(*room) + rt_walk_length(walk) * sizeof(room->frames[0]));

	*ret_path = (struct rt_path){ .full = !room };
	if (room)
		add_all(walk, kind, room, ret_path);
	rt_scratch_give(room);
}

void rt_nodes_add_site(uintptr_t ra, struct rt_path *ret_path)
{
	const struct folded frame = { .ra = ra };
	struct new_node new_node;
	uint64_t node;

	(void)prepare(&new_node, &frame, rt_global.seed);
	node = add_node(0, &frame, &new_node, 0);
	*ret_path = (struct rt_path){ .leaf = (uint32_t)node, .full = node == RT_NO_INDEX };
}

bool rt_nodes_start(void)
{
	if (rt_table_take(LEDGER_TABLE_NODES, 1) != 0)
		return false;
	rt_global.nodes[0].flags = LEDGER_NODE_READY;
	rt_store_release(&rt_global.nodes[0].parent_ready, 1);
	return true;
}
