/* SPDX-License-Identifier: MIT */
/*
 * What is left when all roots are marked: ignored blocks, then those that a weak pointer leads to;
 * hints and lists of what nothing reaches, and the chains to what is reached.
 */
#include "core/bits.h"
#include "scan/scan_private.h"

#include <string.h>

static void mark_ignored(struct scan *scan)
{
	if (!scan->private->ignored_count)
		return;
	for (uint32_t i = 0; i < scan->block_count; i++) {
		if (!(scan->blocks[i].marks & LEDGER_CELL_IGNORED) ||
		    scan->private->fates[i].state != SCAN_LOST)
			continue;
		scan->private->from[i] = 0;
		scan_mark_from(scan, i, SCAN_IGNORED, SCAN_ROOT_IGNORED, SCAN_RULE_NONE);
	}
}

static void mark_maybe(struct scan *scan)
{
	struct scan_private *own = scan->private;

	for (uint64_t k = 0; k < own->weak_count; k++) {
		const union scan_fate *fate = &own->fates[own->weak[k]];

		if (fate->state == SCAN_LOST)
			scan_mark_from(scan, own->weak[k], SCAN_MAYBE, fate->root, fate->rule);
	}
}

enum { HIGH_TAG_SHIFT = 48, SIXTH_SHIFT = 40 };
static const uint64_t hint_bytes_max = UINT64_C(256) << 20;

static void take_hints(struct scan_look *look)
{
	struct scan_private *own = look->scan->private;

	for (unsigned k = 0; k < look->count; k++) {
		const struct scan_word *word = &own->words[k];
		uint64_t to = word->to & look->mask;
		uint32_t i = scan_index_block(&own->index, to);
		struct scan_block *block = &look->scan->blocks[i];
		bool aligned = !(word->from & (sizeof(uint64_t) - 1)), is_old;

		/* Found where pointers are, it points to a lost block only by a tag. */
		is_old = aligned && word->to == to && i != SCAN_NO_BLOCK &&
			 scan_lost_is_apart(&own->fates[i]);
		if (i == SCAN_NO_BLOCK || block->state != SCAN_LOST || block->rule ||
		    block->address != to || (aligned == (word->to == to) && !is_old))
			continue;
		block->rule = is_old	? SCAN_RULE_LOST_BEFORE
			      : aligned ? SCAN_RULE_HIGH_TAG
					: SCAN_RULE_UNALIGNED;
		own->from[i] = word->from;
	}
}

/* At most @left_bytes of it. Returns how many. */
static uint64_t look_through(struct scan_look *look, const struct scan_root *root,
			     uint64_t left_bytes)
{
	struct scan_root part = *root;

	part.end = part.begin + core_smaller(part.end - part.begin, left_bytes);
	for (uint64_t at = part.begin; at < part.end;) {
		at = scan_look_at_root(look, &part, at);
		scan_look_end(look);
	}
	return part.end - part.begin;
}

static uint64_t look_through_block(struct scan_look *look, const struct scan_block *block,
				   uint64_t left_bytes)
{
	const struct scan_root root = { .begin = block->address,
					.end = block->address + block->size };

	return look_through(look, &root, left_bytes);
}

/*
 * Words that look like pointers to lost blocks and are none, since they are tagged or unaligned: a
 * hint to the person who reads the verdict. Looks once more through roots and reachable blocks, as
 * far as a bound.
 */
static void find_hints(struct scan *scan, const struct scan_result *result)
{
	const uint64_t count = result->block_count;
	struct scan_look look = scan_look_for_blocks(scan, take_hints);
	uint64_t left_bytes = hint_bytes_max, first = count, last = 0;

	for (uint64_t k = 0; k < count; k++) {
		if (scan_result_block(result, k)->state != SCAN_LOST)
			continue;
		first = core_smaller(first, k);
		last = k;
	}
	if (first == count)
		return;
	look.lowest = scan_result_block(result, first)->address;
	look.span = scan_result_block(result, last)->address +
		    scan_result_block(result, last)->size + 1 - look.lowest;
	look.mask = (UINT64_C(1) << HIGH_TAG_SHIFT) - 1;
	look.step = 1;
	look.sixth_bytes[0] = (look.lowest >> SIXTH_SHIFT & 0xff) * UINT64_C(0x0101010101010101);
	look.sixth_bytes[1] = ((look.lowest + look.span) >> SIXTH_SHIFT & 0xff) *
			      UINT64_C(0x0101010101010101);
	for (size_t i = 0; i < scan->private->root_count; i++)
		left_bytes -= look_through(&look, &scan->private->roots[i], left_bytes);
	for (uint64_t i = 0; i < scan->block_count && left_bytes; i++)
		if (scan->blocks[i].state == SCAN_REACHABLE)
			left_bytes -= look_through_block(&look, &scan->blocks[i], left_bytes);
}

struct edges {
	struct scan_result *result;
	uint32_t room; /* in result->edges; 0: count only */
	uint32_t count;
	uint32_t to; /* of the last one of this block */
};

static void take_edges(struct scan_look *look)
{
	struct scan *scan = look->scan;
	struct edges *edges = look->user;

	for (unsigned k = 0; k < look->count && edges->count < UINT32_MAX; k++) {
		uint64_t to = scan->private->words[k].to;
		uint32_t i = scan_index_block(&scan->private->index, to);
		const struct scan_block *block = &scan->blocks[i];

		if (i == SCAN_NO_BLOCK || i == look->block || block->state == SCAN_REACHABLE ||
		    scan->private->fates[i].number == edges->to ||
		    to - block->address > block->size)
			continue;
		/* At its end only an array's pointer points to it. */
		if (to == block->address + block->size && block->size &&
		    scan_rule_of(scan, block, to) == SCAN_RULE_NONE)
			continue;
		edges->to = scan->private->fates[i].number;
		if (edges->count < edges->room)
			edges->result->edges[edges->count] = edges->to;
		edges->count++;
	}
}

/* Once to count, once to keep. */
static void look_for_edges(struct scan *scan, struct edges *edges)
{
	struct scan_look look = scan_look_for_blocks(scan, take_edges);
	struct scan_result *result = edges->result;

	look.user = edges;
	edges->count = 0;
	for (uint64_t k = 0; k < result->block_count; k++) {
		const struct scan_block *block = scan_result_block(result, k);

		result->first_edge[k] = (uint32_t)core_smaller(edges->count, edges->room);
		look.block = result->unreached[k];
		edges->to = UINT32_MAX;
		(void)look_through_block(&look, block, block->size);
	}
	result->first_edge[result->block_count] = (uint32_t)core_smaller(edges->count, edges->room);
}

static int find_edges(struct scan *scan, struct scan_result *result)
{
	struct edges edges = { .result = result };

	for (uint64_t k = 0; k < result->block_count; k++)
		scan->private->fates[result->unreached[k]].number = (uint32_t)k;
	result->first_edge = scan_take(scan, result->block_count + 1, sizeof(*result->first_edge));
	if (!result->first_edge)
		return -SCAN_ENOMEM;
	look_for_edges(scan, &edges);
	edges.room = edges.count;
	scan->need_bytes += edges.count * sizeof(*result->edges);
	if (scan->need_bytes > scan->options.memory_max_bytes)
		return -SCAN_EROOM;
	result->edges = scan_take(scan, edges.count, sizeof(*result->edges));
	if (!result->edges)
		return -SCAN_ENOMEM;
	if (edges.room)
		look_for_edges(scan, &edges);
	return 0;
}

/* Tell all blocks what became of them; list those that are not reached. */
static void list_unreached(struct scan *scan, struct scan_result *result)
{
	/* All work is done: there is room for as many numbers. */
	result->unreached = (uint32_t *)(void *)scan->private->todo;
	for (uint32_t i = 0; i < scan->block_count; i++) {
		const union scan_fate *fate = &scan->private->fates[i];
		struct scan_block *block = &scan->blocks[i];

		block->state = fate->state;
		block->rule = scan_lost_is_apart(fate) ? SCAN_RULE_NONE : fate->rule;
		block->root = fate->root;
		if (block->state != SCAN_REACHABLE)
			result->unreached[result->block_count++] = i;
	}
}

int scan_finish(struct scan *scan, struct scan_result *ret_result)
{
	struct scan_result result = { .all = scan->blocks,
				      .all_count = scan->block_count,
				      .from = scan->private->from };
	int rc;

	mark_ignored(scan);
	mark_maybe(scan);
	list_unreached(scan, &result);
	scan->need_bytes += result.block_count * SCAN_UNREACHED_BYTES;
	if (scan->need_bytes > scan->options.memory_max_bytes)
		return -SCAN_EROOM;
	scan->private->quiet = true;
	result.is_blind = scan->skipped_count;
	find_hints(scan, &result);
	rc = find_edges(scan, &result);
	if (rc == 0)
		*ret_result = result;
	return rc;
}

/* What the block was reached from. False: it was not, and what is lost has a hint at most. */
static bool chain_step(const struct scan *scan, const struct scan_block *block,
		       struct scan_link *ret_link)
{
	const uint64_t from = scan->private->from[block - scan->blocks];
	const struct scan_block *holder;

	if (!from || block->rule >= SCAN_RULE_HINTS)
		return false;
	holder = from & SCAN_FROM_ROOT ? NULL : scan_find(scan, from);
	*ret_link = (struct scan_link){
		.from = from & ~SCAN_FROM_ROOT,
		.block = holder ? holder->address : 0,
		.rule = block->rule,
		.root = block->root,
	};
	return true;
}

size_t scan_chain(const struct scan *scan, uint64_t address, struct scan_link *ret_links,
		  size_t half)
{
	const struct scan_block *block = scan_find(scan, address);
	struct scan_link link;
	size_t count = 0;

	for (; scan->options.want_chains && block && chain_step(scan, block, &link); count++) {
		if (count >= 2 * half)
			memmove(&ret_links[half], &ret_links[half + 1],
				(half - 1) * sizeof(*ret_links));
		ret_links[core_smaller(count, 2 * half - 1)] = link;
		block = link.block ? scan_find(scan, link.block) : NULL;
	}
	return count;
}
