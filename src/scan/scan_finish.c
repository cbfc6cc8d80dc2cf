/* SPDX-License-Identifier: MIT */
/*
 * What is left when all roots are marked: ignored blocks, then those that a weak pointer leads to; and
 * the lists of what nothing reaches.
 */
#include "core/bits.h"
#include "scan/scan_hints.h"
#include "scan/scan_mark.h"
#include "scan/scan_private.h"
#include "scan/scan_rules.h"

static void mark_from(struct scan *scan, uint32_t i, enum scan_state state, uint8_t root,
		      uint8_t rule)
{
	struct scan_look look = scan_mark_begin(scan, state, root);
	uint64_t address = scan->blocks[i].address;

	scan_index_meet(&scan->private->index, address);
	scan_mark_block(&look, i, address, rule, scan->private->from[i]);
	scan_mark_follow(&look);
}

static void mark_ignored(struct scan *scan)
{
	if (!scan->private->ignored_count)
		return;
	for (uint32_t i = 0; i < scan->block_count; i++) {
		if (!(scan->blocks[i].marks & LEDGER_CELL_IGNORED) ||
		    scan->private->fates[i].state != SCAN_LOST)
			continue;
		scan->private->from[i] = 0;
		mark_from(scan, i, SCAN_IGNORED, SCAN_ROOT_IGNORED, SCAN_RULE_NONE);
	}
}

static void mark_maybe(struct scan *scan)
{
	struct scan_private *private = scan->private;

	for (uint64_t k = 0; k < private->weak_count; k++) {
		const struct scan_fate *fate = &private->fates[private->weak[k]];

		if (fate->state == SCAN_LOST)
			mark_from(scan, private->weak[k], SCAN_MAYBE, fate->root, fate->rule);
	}
}

/* ---- groups -------------------------------------------------------------------------------- */

struct groups {
	struct scan *scan;
	struct scan_group *buckets; /* of a hash table */
	uint64_t count, bucket_count;
};

/* Never 0, which an empty bucket has. */
static uint64_t group_key(const struct scan_group *g)
{
	return (uint64_t)g->row << 24 | (uint64_t)g->state << 16 | (uint64_t)g->rule << 8 | g->root;
}

static struct scan_group *find_bucket(const struct groups *groups, uint64_t key)
{
	uint64_t at = core_hash_step(0, key);

	for (;; at++) {
		struct scan_group *bucket = &groups->buckets[at & (groups->bucket_count - 1)];

		if (!bucket->blocks || group_key(bucket) == key)
			return bucket;
	}
}

static int grow_groups(struct groups *groups)
{
	struct groups larger = *groups;

	larger.bucket_count = groups->bucket_count ? groups->bucket_count * 4 : 1024;
	larger.buckets = scan_take(groups->scan, larger.bucket_count, sizeof(*larger.buckets));
	if (!larger.buckets)
		return -SCAN_ENOMEM;
	for (uint64_t i = 0; i < groups->bucket_count; i++)
		if (groups->buckets[i].blocks)
			*find_bucket(&larger, group_key(&groups->buckets[i])) = groups->buckets[i];
	*groups = larger;
	return 0;
}

static int add_to_group(struct groups *groups, const struct scan_block *block)
{
	struct scan_group group = {
		.row = block->row, .state = block->state, .rule = block->rule, .root = block->root
	};
	struct scan_group *bucket;

	if (groups->count * 2 >= groups->bucket_count && grow_groups(groups))
		return -SCAN_ENOMEM;
	bucket = find_bucket(groups, group_key(&group));
	if (!bucket->blocks) {
		*bucket = group;
		groups->count++;
	}
	bucket->blocks++;
	bucket->bytes += block->size;
	return 0;
}

/* To the front of the table. */
static void list_groups(struct groups *groups)
{
	uint64_t count = 0;

	for (uint64_t i = 0; i < groups->bucket_count; i++)
		if (groups->buckets[i].blocks)
			groups->buckets[count++] = groups->buckets[i];
}

/* ---- edges --------------------------------------------------------------------------------- */

struct edges {
	uint32_t *index_of; /* by block of the scan: in the result */
	struct scan_result *result;
	uint64_t room; /* in result->edges; 0: count only */
	uint64_t count;
	uint32_t to; /* of the last one of this block */
};

static void take_edges(struct scan_look *look)
{
	struct scan *scan = look->scan;
	struct edges *edges = look->user;

	for (unsigned k = 0; k < look->count; k++) {
		uint64_t to = scan->private->words[k].to;
		uint32_t i = scan_index_block(&scan->private->index, to);
		const struct scan_block *block = &scan->blocks[i];

		if (i == SCAN_NO_BLOCK || i == look->block || block->state == SCAN_REACHABLE ||
		    edges->index_of[i] == edges->to || to - block->address > block->size)
			continue;
		/* At its end only an array's pointer points to it. */
		if (to == block->address + block->size && block->size &&
		    scan_rule_of(scan, block, to) == SCAN_RULE_NONE)
			continue;
		edges->to = edges->index_of[i];
		if (edges->count < edges->room)
			edges->result->edges[edges->count] = edges->to;
		edges->count++;
	}
}

/* Once to count, once to keep. */
static void look_for_edges(struct scan *scan, const uint32_t *listed, struct edges *edges)
{
	struct scan_look look = scan_look_for_blocks(scan, take_edges);
	struct scan_result *result = edges->result;

	look.user = edges;
	edges->count = 0;
	for (uint64_t k = 0; k < result->block_count; k++) {
		const struct scan_block *block = &scan->blocks[listed[k]];

		result->first_edge[k] = edges->room ? core_smaller(edges->count, edges->room) : 0;
		look.block = listed[k];
		edges->to = UINT32_MAX;
		scan_look_through(&look, block->address, block->address + block->size);
		scan_look_end(&look);
	}
	result->first_edge[result->block_count] = edges->room
							  ? core_smaller(edges->count, edges->room)
							  : 0;
}

static int find_edges(struct scan *scan, const uint32_t *listed, struct scan_result *result)
{
	struct edges edges = { .index_of = scan->private->weak, .result = result };

	for (uint64_t k = 0; k < result->block_count; k++)
		edges.index_of[listed[k]] = (uint32_t)k;
	result->first_edge = scan_take(scan, result->block_count + 1, sizeof(*result->first_edge));
	if (!result->first_edge)
		return -SCAN_ENOMEM;
	look_for_edges(scan, listed, &edges);
	edges.room = edges.count;
	result->edges = scan_take(scan, edges.count, sizeof(*result->edges));
	if (!result->edges)
		return -SCAN_ENOMEM;
	if (edges.room)
		look_for_edges(scan, listed, &edges);
	result->edge_count = result->first_edge[result->block_count];
	return 0;
}

/* ---- all of it ------------------------------------------------------------------------------ */

static int copy_blocks(struct scan *scan, const uint32_t *listed, struct scan_result *result)
{
	result->blocks = scan_take(scan, result->block_count, sizeof(*result->blocks));
	result->from = scan_take(scan, result->block_count, sizeof(*result->from));
	if (!result->blocks || !result->from)
		return -SCAN_ENOMEM;
	for (uint64_t k = 0; k < result->block_count; k++) {
		result->blocks[k] = scan->blocks[listed[k]];
		result->from[k] = scan->private->from[listed[k]] & ~SCAN_FROM_ROOT;
	}
	return 0;
}

/* Tell all blocks what became of them; group those that are reached, list the others. NULL: no memory. */
static uint32_t *list_unreached(struct scan *scan, struct groups *groups, uint64_t *ret_count)
{
	/* All work is done: there is room for as many numbers. */
	uint32_t *listed = (uint32_t *)(void *)scan->private->todo;

	for (uint32_t i = 0; i < scan->block_count; i++) {
		const struct scan_fate *fate = &scan->private->fates[i];
		struct scan_block *block = &scan->blocks[i];

		block->state = fate->state;
		block->rule = fate->rule;
		block->root = fate->root;
		if (block->state != SCAN_REACHABLE)
			listed[(*ret_count)++] = i;
		else if (add_to_group(groups, block))
			return NULL;
	}
	return listed;
}

int scan_finish(struct scan *scan, struct scan_result *ret_result)
{
	struct scan_result result = { 0 };
	struct groups groups = { .scan = scan };
	uint32_t *listed;

	if (grow_groups(&groups))
		return -SCAN_ENOMEM;
	mark_ignored(scan);
	mark_maybe(scan);
	listed = list_unreached(scan, &groups, &result.block_count);
	if (!listed)
		return -SCAN_ENOMEM;
	scan->private->quiet = true;
	if (scan->options.want_hints)
		scan_hints_find(scan, listed, result.block_count);
	for (uint64_t k = 0; k < result.block_count; k++)
		if (add_to_group(&groups, &scan->blocks[listed[k]]))
			return -SCAN_ENOMEM;
	list_groups(&groups);
	result.groups = groups.buckets;
	result.group_count = groups.count;
	if (copy_blocks(scan, listed, &result) || find_edges(scan, listed, &result))
		return -SCAN_ENOMEM;
	*ret_result = result;
	return 0;
}
