/* SPDX-License-Identifier: MIT */
#include "runtime/track/flush.h"

#include "runtime/sys/tables.h"
#include "runtime/track/counters.h"

#define SEQUENCE_MASK ((1ull << LEDGER_SEQ_COUNT_SHIFT) - 1)

/* Even, with the count one higher. */
static uint64_t sequence_after(uint64_t sequence)
{
	return ((sequence >> LEDGER_SEQ_COUNT_SHIFT) + 1) << LEDGER_SEQ_COUNT_SHIFT;
}

static void row_store(struct ledger_row *row, const struct ledger_row_values *values)
{
	rt_store(&row->allocs, values->allocs);
	rt_store(&row->alloc_bytes, values->alloc_bytes);
	rt_store(&row->frees, values->frees);
	rt_store(&row->freed_bytes, values->freed_bytes);
	rt_store(&row->temporaries, values->temporaries);
	rt_store(&row->at_blocks, values->at_blocks);
	rt_store(&row->at_bytes, values->at_bytes);
	rt_store(&row->turn, values->turn);
}

static void slot_empty(struct ledger_slot *slot, uint64_t turn)
{
	rt_store(&slot->row, 0);
	rt_store(&slot->allocs, 0);
	rt_store(&slot->alloc_bytes, 0);
	rt_store(&slot->frees, 0);
	rt_store(&slot->freed_bytes, 0);
	rt_store(&slot->temporaries, 0);
	rt_store(&slot->at_blocks, 0);
	rt_store(&slot->at_bytes, 0);
	rt_store(&slot->turn, turn);
}

/*
 * Store what the redo record says; may be repeated, as long as the row's sequence is odd. Which row
 * and slot is the thread's own word: the record in the ledger is for readers.
 */
static void apply(struct rt_thread *thread, struct ledger_row *row)
{
	struct ledger_redo *redo = &thread->cache->redo;

	row_store(row, &redo->values);
	slot_empty(thread->flush.slot, thread->flush.turn_after);
	rt_store_release(&row->sequence, sequence_after(rt_load(&row->sequence)));
	rt_store(&thread->flush.active, 0);
	rt_store_release(&redo->active, 0);
}

static void bring_to_turn(struct ledger_row_values *values, uint64_t turn)
{
	if (values->turn >= turn)
		return;
	values->at_blocks = (int64_t)(values->allocs - values->frees);
	values->at_bytes = (int64_t)(values->alloc_bytes - values->freed_bytes);
	values->turn = turn;
}

static void add_slot(struct ledger_row_values *values, const struct ledger_slot *slot)
{
	values->allocs += rt_load(&slot->allocs);
	values->alloc_bytes += rt_load(&slot->alloc_bytes);
	values->frees += rt_load(&slot->frees);
	values->freed_bytes += rt_load(&slot->freed_bytes);
	values->temporaries += rt_load(&slot->temporaries);
	values->at_blocks += rt_load(&slot->at_blocks);
	values->at_bytes += rt_load(&slot->at_bytes);
}

static void values_of_row(const struct ledger_row *row, struct ledger_row_values *ret_values)
{
	ret_values->allocs = rt_load(&row->allocs);
	ret_values->alloc_bytes = rt_load(&row->alloc_bytes);
	ret_values->frees = rt_load(&row->frees);
	ret_values->freed_bytes = rt_load(&row->freed_bytes);
	ret_values->temporaries = rt_load(&row->temporaries);
	ret_values->turn = rt_load(&row->turn);
	ret_values->at_blocks = rt_load(&row->at_blocks);
	ret_values->at_bytes = rt_load(&row->at_bytes);
}

/* The row and its slot together, at the present turn, which is returned. The row is taken. */
static uint64_t add_up(const struct ledger_row *row, struct ledger_slot *slot,
		       struct ledger_row_values *ret_values)
{
	uint64_t turn = rt_load_acquire(&rt_global.control->peak_turn);

	rt_slot_bring(slot, turn);
	values_of_row(row, ret_values);
	bring_to_turn(ret_values, turn);
	add_slot(ret_values, slot);
	return turn;
}

/* Make the row's even @sequence odd; false when it has moved. */
static bool take(struct ledger_row *row, uint64_t sequence, uint32_t cache_index)
{
	return atomic_compare_exchange_strong_explicit(
		&row->sequence, &sequence,
		(sequence & ~SEQUENCE_MASK) | (uint64_t)cache_index << LEDGER_SEQ_CACHE_SHIFT |
			LEDGER_SEQ_ODD,
		memory_order_acq_rel, memory_order_relaxed);
}

bool rt_slot_flush(struct rt_thread *thread, struct ledger_slot *slot)
{
	uint32_t id = rt_load(&slot->row);
	struct ledger_row *row = rt_row(id);
	struct ledger_redo *redo = &thread->cache->redo;
	uint64_t sequence, turn;

	if (RT_UNLIKELY(!row)) {
		/* Somebody has written over it. */
		slot_empty(slot, 0);
		return true;
	}
	sequence = rt_load_acquire(&row->sequence);
	if (sequence & LEDGER_SEQ_ODD)
		return false;
	/* Before the row is taken: whoever finds it taken by this cache knows by whom. */
	rt_store(&redo->row, id);
	rt_store(&thread->flush.row, id);
	atomic_signal_fence(memory_order_seq_cst);
	if (!take(row, sequence, thread->cache_index))
		return false;
	turn = add_up(row, slot, &redo->values);
	rt_store(&redo->slot, (uint64_t)(slot - rt_global.slots));
	rt_store(&redo->turn_after, turn);
	thread->flush.slot = slot;
	thread->flush.turn_after = turn;
	atomic_signal_fence(memory_order_seq_cst);
	rt_store(&thread->flush.active, 1);
	rt_store_release(&redo->active, 1);
	apply(thread, row);
	return true;
}

/*
 * At most one row is taken by this cache, the one that the thread names: a flush is not interrupted
 * by another one. None is when the flush had not taken it yet, or was complete.
 */
void rt_redo(struct rt_thread *thread)
{
	struct ledger_row *row = rt_row(rt_load(&thread->flush.row));
	uint64_t sequence;

	if (!rt_load(&thread->flush.row) || !row)
		return;
	sequence = rt_load(&row->sequence);
	if ((sequence & LEDGER_SEQ_ODD) && LEDGER_SEQ_CACHE(sequence) == thread->cache_index) {
		if (rt_load(&thread->flush.active))
			apply(thread, row);
		else /* taken, but nothing was changed yet */
			rt_store_release(&row->sequence, sequence_after(sequence));
	}
	rt_store(&thread->flush.active, 0);
	rt_store(&thread->cache->redo.active, 0);
	atomic_signal_fence(memory_order_seq_cst);
	rt_store(&thread->cache->redo.row, 0);
	rt_store(&thread->flush.row, 0);
}
