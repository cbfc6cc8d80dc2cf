/* SPDX-License-Identifier: MIT */
#include "runtime/track/counters.h"

#include "runtime/sys/sys.h"
#include "runtime/sys/tables.h"
#include "runtime/track/flush.h"

enum {
	GROUP = 4, /* slots in which a row may stand: its home and the three beside it */
	GROW_FACTOR = 4,
	SLOTS_MANY_THREADS = 1024, /* 64 KB per thread; more only for a few threads */
	YIELDS = 50,		   /* at rows that other threads do not leave, */
	SLEEPS = 10,		   /* of a millisecond */
};

void rt_slot_capture(struct ledger_slot *slot, uint64_t turn, int64_t blocks, int64_t bytes)
{
	/* The reader takes live, then turn, then at. */
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
	uint64_t slots = rt_load(&thread->cache->slots);

	thread->slots = &rt_global.slots[slots >> 8];
	thread->slot_mask = (1u << (slots & 63)) - 1;
	thread->conflicts = 0;
}

static void slots_use(struct rt_thread *thread, uint64_t index, unsigned log2)
{
	rt_store_release(&thread->cache->slots, index << 8 | log2);
	rt_slots_find(thread);
}

/*
 * Half of the table is for threads that begin: one that finds no slots at all is counted without
 * stacks, one that has few only flushes more often.
 */
static bool may_grow_by(uint64_t count)
{
	return rt_load(&rt_global.state->table[LEDGER_TABLE_SLOTS].reserved) + count <=
	       rt_global.header->table[LEDGER_TABLE_SLOTS].capacity / 2;
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
	if (index != RT_NO_INDEX)
		slots_use(thread, index, core_bit_width(count * GROW_FACTOR) - 1);
}

/* Wait for whoever is at a row: the first times let it run, then sleep. False: long enough. */
static bool await_row(unsigned tries)
{
	static const uint32_t never;

	if (tries < YIELDS)
		(void)rt_syscall3(SYS_sched_yield, 0, 0, 0);
	else
		(void)rt_futex_wait((void *)(uintptr_t)&never, 0, 1);
	return tries < YIELDS + SLEEPS;
}

struct ledger_slot *rt_slot_make(struct rt_thread *thread, uint32_t row)
{
	if (RT_UNLIKELY(thread->conflicts > thread->slot_mask * 2))
		slots_grow(thread);
	for (unsigned tries = 0;; tries++) {
		uint32_t home = row & thread->slot_mask;
		struct ledger_slot *empty = NULL;

		for (uint32_t i = 0; i < GROUP; i++) {
			struct ledger_slot *slot = &thread->slots[home ^ i];
			uint32_t seen = rt_load(&slot->row);

			if (seen == row)
				return slot;
			if (!seen && !empty)
				empty = slot;
		}
		for (uint32_t i = 0; !empty && i < GROUP; i++)
			if (rt_slot_flush(thread, &thread->slots[home ^ i]))
				empty = &thread->slots[home ^ i];
		thread->conflicts++;
		if (RT_LIKELY(empty != NULL)) {
			rt_store_release(&empty->row, row);
			return empty;
		}
		/* Four rows, each under another thread's flush of a few stores: let them finish. */
		if (!await_row(tries))
			return NULL;
	}
}

void rt_row_alloc(uint64_t size)
{
	struct ledger_row *row = &rt_global.rows[0];

	rt_add(&row->allocs, 1);
	rt_add(&row->alloc_bytes, size);
}

void rt_row_free(uint32_t row, uint64_t size)
{
	struct ledger_row *of = &rt_global.rows[rt_row_index(row)];

	rt_add(&of->direct_frees, 1);
	rt_add(&of->direct_freed_bytes, size);
}

void rt_direct_alloc(uint64_t size)
{
	if (!rt_mine.control)
		return;
	rt_row_alloc(size);
	rt_add(&rt_global.state->live_bytes, (int64_t)size);
}

void rt_direct_free(uint32_t row, uint64_t size, uint64_t usable)
{
	if (!rt_mine.control)
		return;
	rt_add(&rt_global.state->live_bytes, -(int64_t)size);
	rt_row_free(row, size);
	rt_add(&rt_global.state->direct_usable_bytes, usable);
}
