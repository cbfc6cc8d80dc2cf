/* SPDX-License-Identifier: MIT */
#include "runtime/track/counters.h"

#include "runtime/track/redo.h"

enum {
	GROUP = 4, /* slots in which a row may stand: its home and the three beside it */
	GROW_FACTOR = 4,
	SLOTS_MANY_THREADS = 1024, /* 64 KiB per thread; more only for a few threads */
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

/* Add @slot to its row and empty it. False, at once, when another thread is at that row. */
static bool flush(struct rt_thread *thread, struct ledger_slot *slot)
{
	uint32_t id = rt_load(&slot->row);
	struct ledger_row *row = &rt_global.rows[rt_row_index(id)];
	struct ledger_redo *redo = &thread->cache->redo;
	uint64_t sequence = rt_load_acquire(&row->sequence);
	uint64_t turn;

	if (sequence & LEDGER_SEQ_ODD)
		return false;
	rt_store(&redo->row, id);
	rt_store(&redo->sequence_after, rt_sequence_after(sequence));
	atomic_signal_fence(memory_order_seq_cst);
	if (!rt_row_enter(row, sequence, thread->cache_index))
		return false;
	turn = rt_row_add_up(row, slot, &redo->values);
	rt_store(&redo->slot, (uint64_t)(slot - rt_global.slots));
	rt_store(&redo->turn_after, turn);
	rt_store_release(&redo->active, 1);
	rt_redo_apply(redo, NULL);
	rt_add_own(&thread->cache->flushes, 1);
	return true;
}

void rt_slot_flush(struct rt_thread *thread, struct ledger_slot *slot)
{
	(void)flush(thread, slot);
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
		if (rt_load(&thread->slots[i].row) && !flush(thread, &thread->slots[i]))
			return;
	index = rt_table_take(LEDGER_TABLE_SLOTS, (uint64_t)count * GROW_FACTOR);
	if (index != RT_NO_INDEX)
		slots_use(thread, index, core_bit_width(count * GROW_FACTOR) - 1);
}

/* No slot to be had. What was spilled before belongs to another row, perhaps. */
static struct ledger_slot *take_spill(struct rt_thread *thread, uint32_t row)
{
	rt_settle(thread);
	rt_store(&thread->spill.row, row);
	rt_store(&thread->unsettled, 1);
	return &thread->spill;
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
			if (flush(thread, &thread->slots[home ^ i]))
				empty = &thread->slots[home ^ i];
		thread->conflicts++;
		if (RT_LIKELY(empty != NULL)) {
			rt_store_release(&empty->row, row);
			return empty;
		}
		/* Four rows, each under another thread's flush of a few stores: let them finish. */
		if (!rt_row_await(tries))
			return take_spill(thread, row);
	}
}
