/* SPDX-License-Identifier: MIT */
#include "runtime/track/live_contexts.h"

#include "runtime/sys/sys.h"
#include "runtime/sys/tables.h"
#include "runtime/track/context.h"
#include "runtime/track/pagemap.h"
#include "runtime/track/tier.h"

enum { ROOM_FIRST = 1024 };

#define ADDRESS_MASK ((UINT64_C(1) << LEDGER_ADDRESS_BITS) - 1)

/* Of items by hash, until all are there: where one of @context and @size is, or has its place. */
static struct rt_live *find(const struct rt_lives *lives, uint32_t context, uint64_t size)
{
	uint64_t at = core_hash_step(core_hash_step(rt_global.seed, context), size);

	for (;; at++) {
		struct rt_live *item = &lives->items[at & (lives->room - 1)];

		if (!item->blocks || (item->context == context && item->size == size))
			return item;
	}
}

static void make_room(struct rt_lives *lives)
{
	struct rt_lives more = { .room = lives->room ? 2 * lives->room : ROOM_FIRST };

	more.items = rt_map_alone(more.room * sizeof(*more.items));
	for (uint64_t i = 0; more.items && i < lives->room; i++) {
		const struct rt_live *item = &lives->items[i];

		if (item->blocks)
			*find(&more, item->context, item->size) = *item;
	}
	rt_lives_give(lives);
	lives->items = more.items;
	lives->room = more.room;
}

static uint32_t number_of(uint32_t row)
{
	const struct ledger_context *context = rt_context_of(row);

	if (row < rt_load(&rt_mine.first_row))
		return RT_LIVE_INHERITED;
	return (context ? (uint32_t)(context - rt_global.contexts) : LEDGER_CONTEXT_NO_STACK) + 1;
}

static void add(const struct rt_block *block, void *user)
{
	struct rt_lives *lives = user;
	const uint64_t size = lives->by_size ? block->size : 0;
	const uint32_t context = number_of(ledger_cell_row(block->value));
	const unsigned weight_log2 = rt_weight_log2(rt_cell_flags(block->value), block->size);
	struct rt_live *item;

	if (lives->items && lives->count >= lives->room / 4 * 3)
		make_room(lives);
	if (!lives->items)
		return;
	item = find(lives, context, size);
	if (!item->blocks) {
		item->context = context;
		item->size = size;
		lives->count++;
	}
	item->blocks += UINT64_C(1) << weight_log2;
	item->bytes += block->size << weight_log2;
}

/* Of the heap items[0..@count), whose root comes last in order, all below @at are right. */
static void sift(struct rt_live *items, uint64_t at, uint64_t count, rt_live_order *order)
{
	for (uint64_t child = 2 * at + 1; child < count; child = 2 * at + 1) {
		const struct rt_live item = items[at];

		if (child + 1 < count && order(&items[child], &items[child + 1]))
			child++;
		if (!order(&item, &items[child]))
			return;
		items[at] = items[child];
		items[child] = item;
		at = child;
	}
}

static void sort(const struct rt_lives *lives, rt_live_order *order)
{
	for (uint64_t i = lives->count / 2; i-- > 0;)
		sift(lives->items, i, lives->count, order);
	for (uint64_t end = lives->count; end-- > 1;) {
		const struct rt_live last = lives->items[0];

		lives->items[0] = lives->items[end];
		lives->items[end] = last;
		sift(lives->items, 0, end, order);
	}
}

void rt_lives_take(struct rt_lives *ret_lives, bool by_size, rt_live_order *order)
{
	struct rt_lives *lives = ret_lives;
	uint64_t count = 0;

	*lives = (struct rt_lives){ .by_size = by_size };
	make_room(lives);
	rt_blocks_each(add, lives);
	for (uint64_t i = 0; lives->items && i < lives->room; i++) {
		struct rt_live item = lives->items[i];

		if (!item.blocks)
			continue;
		item.depth = rt_live_frames(&item, NULL, RT_LIVE_FRAMES_MAX);
		lives->bytes += item.bytes;
		lives->depth = item.depth > lives->depth ? item.depth : lives->depth;
		lives->items[count++] = item;
	}
	if (lives->items)
		sort(lives, order);
}

void rt_lives_give(struct rt_lives *lives)
{
	if (lives->items)
		rt_unmap_alone(lives->items, lives->room * sizeof(*lives->items));
	lives->items = NULL;
}

const struct ledger_context *rt_live_context(const struct rt_live *live)
{
	return live->context != RT_LIVE_INHERITED &&
			       live->context <= rt_load(&rt_tables[LEDGER_TABLE_CONTEXTS].ready)
		       ? &rt_global.contexts[live->context - 1]
		       : NULL;
}

static uint64_t bias_of(uint32_t module)
{
	return module && module <= rt_load(&rt_tables[LEDGER_TABLE_MODULES].ready)
		       ? rt_global.modules[module - 1].bias
		       : 0;
}

uint32_t rt_live_frames(const struct rt_live *live, uintptr_t *frames, uint32_t max)
{
	const uint64_t nodes = rt_load(&rt_tables[LEDGER_TABLE_NODES].ready);
	const struct ledger_context *context = rt_live_context(live);
	/* Each once: what is compared is to be what is used. */
	uint32_t at = context ? __atomic_load_n(&context->leaf, __ATOMIC_RELAXED) : 0, count = 0;

	while (at && at < nodes && count < max) {
		const struct ledger_node *node = &rt_global.nodes[at];
		const uint32_t parent = rt_load_acquire(&node->parent_ready) - 1;

		if (frames)
			frames[count] =
				(node->address +
				 bias_of(__atomic_load_n(&node->module, __ATOMIC_RELAXED))) &
				ADDRESS_MASK;
		count++;
		/* Whatever it says, it is no way around in a circle. */
		at = parent < at ? parent : 0;
	}
	return count;
}
