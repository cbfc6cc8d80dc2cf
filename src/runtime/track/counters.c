/* SPDX-License-Identifier: MIT */
#include "runtime/track/counters.h"

#include "runtime/sys/tables.h"
#include "runtime/track/flush.h"

#include <string.h>

enum {
	GROUP = 4, /* slots in which a row may stand: its home and the three beside it */
	GROW_FACTOR = 4,
	SLOTS_MANY_THREADS = 1024, /* 64 KB per thread; more only for a few threads */
	SUMMED_ROWS_MAX = 4096,
};

void rt_slot_capture(struct ledger_slot *slot, uint64_t turn, int64_t blocks, int64_t bytes)
{
	rt_store(&slot->at_blocks, blocks);
	rt_store(&slot->at_bytes, bytes);
	rt_store_release(&slot->turn, turn);
}

void rt_slot_leave(struct rt_thread *thread, struct ledger_slot *slot, uint64_t turn,
		   int64_t blocks, int64_t bytes)
{
	rt_slot_end(slot, rt_global.control, turn, blocks, bytes);
	rt_leave(thread);
}

void rt_slots_find(struct rt_thread *thread)
{
	uint64_t slots = rt_load(&thread->slots_at);

	/* A move may have been left by longjmp in the middle. */
	rt_store(&thread->cache->slots, slots);
	thread->slots = &rt_global.slots[slots >> 8];
	thread->slot_mask = (1u << (slots & 63)) - 1;
	thread->conflicts = 0;
}

/*
 * Half of the table is for threads that begin: one that finds no slots at all is counted without
 * stacks, one that has few only flushes more often.
 */
static bool may_grow_by(uint64_t count)
{
	return rt_load(&rt_tables[LEDGER_TABLE_SLOTS].reserved) + count <=
	       rt_header.table[LEDGER_TABLE_SLOTS].capacity / 2;
}

/* More conflicts than slots: move to a run four times as long. The old one is given up. */
static void slots_grow(struct rt_thread *thread)
{
	uint32_t count = thread->slot_mask + 1;
	uint32_t most = rt_threads_are_few() ? LEDGER_SLOTS_MAX : SLOTS_MANY_THREADS;
	uint64_t index;

	thread->conflicts = 0;
	if (count * GROW_FACTOR > most || !may_grow_by((uint64_t)count * GROW_FACTOR))
		return;
	for (uint32_t i = 0; i < count; i++)
		if (rt_load(&thread->slots[i].row) && !rt_slot_flush(thread, &thread->slots[i]))
			return;
	index = rt_table_take(LEDGER_TABLE_SLOTS, (uint64_t)count * GROW_FACTOR);
	if (index == RT_NO_INDEX)
		return;
	rt_store(&thread->slots_at, index << 8 | (core_bit_width(count * GROW_FACTOR) - 1));
	rt_slots_find(thread);
}

/* The slot of @row, or an empty one, or one that can be emptied, among @count from @home on. */
static struct ledger_slot *slot_among(struct rt_thread *thread, uint32_t row, uint32_t count)
{
	struct ledger_slot *empty = NULL;

	for (uint32_t i = 0; i < count; i++) {
		struct ledger_slot *slot = &thread->slots[(row ^ i) & thread->slot_mask];
		uint32_t seen = rt_load(&slot->row);

		if (seen == row)
			return slot;
		if (!seen && !empty)
			empty = slot;
	}
	for (uint32_t i = 0; !empty && i < count; i++) {
		struct ledger_slot *slot = &thread->slots[(row ^ i) & thread->slot_mask];

		if (rt_slot_flush(thread, slot))
			empty = slot;
	}
	return empty;
}

/*
 * Rows that other threads are at are not waited for: such a thread may not run for long. A slot
 * further away does as well, for it is looked for there only in the same case.
 */
struct ledger_slot *rt_slot_make(struct rt_thread *thread, uint32_t row)
{
	struct ledger_slot *slot;

	if (RT_UNLIKELY(!rt_row(row)))
		return NULL;
	if (RT_UNLIKELY(thread->conflicts > thread->slot_mask * 2))
		slots_grow(thread);
	slot = slot_among(thread, row, GROUP);
	if (RT_UNLIKELY(!slot))
		slot = slot_among(thread, row, thread->slot_mask + 1);
	if (slot && rt_load(&slot->row) != row) {
		thread->conflicts++;
		rt_store_release(&slot->row, row);
	}
	return slot;
}

/* What was counted early. */
static struct {
	_Atomic uint64_t allocs, alloc_bytes, frees, freed_bytes;
	_Atomic uint64_t inherited_frees, inherited_freed_bytes, untracked_frees;
	_Atomic uint32_t waits; /* something was added since it went into a ledger */
} early;

/* One operation of @bytes. The ledger may be there by now. */
static void add_early(_Atomic uint64_t *count, _Atomic uint64_t *total, uint64_t bytes)
{
	rt_add(count, 1);
	if (total)
		rt_add(total, bytes);
	rt_store_release(&early.waits, 1);
	rt_early_settle();
}

static uint64_t take_early(_Atomic uint64_t *word)
{
	return atomic_exchange_explicit(word, 0, memory_order_relaxed);
}

void rt_early_drop(void)
{
	memset(&early, 0, sizeof(early));
}

void rt_early_settle(void)
{
	struct rt_thread *thread = rt_mine.control ? rt_thread_self() : NULL;
	struct ledger_row *row = rt_global.rows;
	uint64_t allocs, alloc_bytes, frees, freed_bytes, inherited, untracked;

	if (!thread || !atomic_exchange_explicit(&early.waits, 0, memory_order_acquire))
		return;
	allocs = take_early(&early.allocs);
	alloc_bytes = take_early(&early.alloc_bytes);
	frees = take_early(&early.frees);
	freed_bytes = take_early(&early.freed_bytes);
	inherited = take_early(&early.inherited_frees);
	untracked = take_early(&early.untracked_frees);
	rt_add(&row->allocs, allocs);
	rt_add(&row->alloc_bytes, alloc_bytes);
	rt_add(&row->direct_frees, frees);
	rt_add(&row->direct_freed_bytes, freed_bytes);
	rt_add(&rt_global.state->live_bytes, (int64_t)(alloc_bytes - freed_bytes));
	rt_add(&thread->cache->inherited_frees, inherited);
	rt_add(&thread->cache->inherited_freed_bytes, take_early(&early.inherited_freed_bytes));
	rt_add(&thread->cache->untracked_frees, untracked);
	rt_add(&rt_global.state->early, allocs + frees + inherited + untracked);
}

void rt_row_free(uint32_t row, uint64_t size)
{
	struct ledger_row *of = rt_row(row);

	if (!of)
		return;
	rt_add(&of->direct_frees, 1);
	rt_add(&of->direct_freed_bytes, size);
}

void rt_direct_alloc(uint64_t size)
{
	if (RT_UNLIKELY(!rt_mine.control)) {
		add_early(&early.allocs, &early.alloc_bytes, size);
		return;
	}
	rt_add(&rt_global.rows[0].allocs, 1);
	rt_add(&rt_global.rows[0].alloc_bytes, size);
	rt_add(&rt_global.state->live_bytes, (int64_t)size);
}

void rt_direct_free(uint32_t row, uint64_t size, uint64_t live, uint64_t usable)
{
	if (RT_UNLIKELY(!rt_mine.control)) {
		add_early(&early.frees, &early.freed_bytes, size);
		return;
	}
	rt_add(&rt_global.state->live_bytes, -(int64_t)live);
	rt_row_free(row, size);
	rt_add(&rt_global.state->direct_usable_bytes, usable);
}

/*
 * Where frees are counted that have no row: one without a cache of its own takes the first. NULL:
 * there is none. Added, not bumped: perhaps in a handler that interrupted this very addition.
 */
static struct ledger_cache *cache_for(struct rt_thread *thread)
{
	if (RT_LIKELY(thread != NULL))
		return thread->cache;
	return rt_mine.control && rt_load(&rt_threads) ? rt_global.caches : NULL;
}

void rt_inherited_free(struct rt_thread *thread, uint64_t size)
{
	struct ledger_cache *cache = cache_for(thread);

	if (RT_UNLIKELY(!cache)) {
		add_early(&early.inherited_frees, &early.inherited_freed_bytes, size);
		return;
	}
	rt_add(&cache->inherited_frees, 1);
	rt_add(&cache->inherited_freed_bytes, size);
}

void rt_pass_directly(struct rt_thread *thread, uint64_t size, uint64_t live)
{
	struct ledger_cache *cache = cache_for(thread);

	if (RT_UNLIKELY(!cache))
		return;
	rt_add(&cache->passed_allocs, 1);
	rt_add(&cache->passed_alloc_bytes, size);
	rt_add(&rt_global.state->live_bytes, (int64_t)live);
}

void rt_unknown_free(struct rt_thread *thread)
{
	struct ledger_cache *cache = cache_for(thread);

	if (RT_LIKELY(cache != NULL))
		rt_add(rt_global.passes ? &cache->passed_frees : &cache->untracked_frees, 1);
	else
		add_early(&early.untracked_frees, NULL, 0);
}

/* While no other thread counts and none is in a flush. */
bool rt_sum_all(struct rt_sum *ret_sum)
{
	const uint64_t rows = rt_load(&rt_tables[LEDGER_TABLE_ROWS].reserved);
	const struct rt_thread *thread = rt_tls.thread;
	uint64_t passed;

	*ret_sum = (struct rt_sum){ 0 };
	if (!thread || rt_load(&rt_threads) != 1 || rt_load(&thread->flush.active) ||
	    rows > SUMMED_ROWS_MAX || rows > rt_load(&rt_tables[LEDGER_TABLE_ROWS].ready))
		return false;
	for (uint64_t i = 0; i < rows; i++) {
		const struct ledger_row *row = &rt_global.rows[i];

		ret_sum->allocs += rt_load(&row->allocs);
		ret_sum->alloc_bytes += rt_load(&row->alloc_bytes);
		ret_sum->frees += rt_load(&row->frees) + rt_load(&row->direct_frees);
		ret_sum->freed_bytes += rt_load(&row->freed_bytes) +
					rt_load(&row->direct_freed_bytes);
	}
	for (uint32_t i = 0; i <= thread->slot_mask; i++) {
		const struct ledger_slot *slot = &thread->slots[i];

		ret_sum->allocs += rt_load(&slot->allocs);
		ret_sum->alloc_bytes += rt_load(&slot->alloc_bytes);
		ret_sum->frees += rt_load(&slot->frees);
		ret_sum->freed_bytes += rt_load(&slot->freed_bytes);
	}
	ret_sum->allocs += rt_load(&thread->cache->passed_allocs);
	ret_sum->alloc_bytes += rt_load(&thread->cache->passed_alloc_bytes);
	/* Of these nobody knows how large they were: as others on average. More than there were are an ancestor's. */
	passed = core_smaller(rt_load(&thread->cache->passed_frees),
			      ret_sum->allocs - core_smaller(ret_sum->frees, ret_sum->allocs));
	if (passed) {
		ret_sum->frees += passed;
		ret_sum->freed_bytes =
			core_smaller(ret_sum->alloc_bytes,
				     ret_sum->alloc_bytes / ret_sum->allocs * ret_sum->frees);
	}
	ret_sum->inherited_frees = rt_load(&thread->cache->inherited_frees) +
				   rt_load(&thread->cache->passed_frees) - passed;
	ret_sum->inherited_freed_bytes = rt_load(&thread->cache->inherited_freed_bytes);
	return true;
}
