/* SPDX-License-Identifier: MIT */
#include "runtime/track/no_slot.h"

#include "runtime/track/redo.h"

/* Threads without a cache are all this one, where a row says who is at it. */
enum { INDEX_OF_OTHERS = (1 << (LEDGER_SEQ_COUNT_SHIFT - LEDGER_SEQ_CACHE_SHIFT)) - 1 };

static uint32_t index_of(const struct rt_thread *thread)
{
	return thread ? thread->cache_index : INDEX_OF_OTHERS;
}

/* A handler that interrupts us here takes the next one; it gives that back, or never returns. */
static struct ledger_redo *entered_take(struct rt_thread *thread, const struct ledger_slot *slot)
{
	for (unsigned i = 0; i < RT_LATE_ROWS; i++) {
		struct ledger_redo *redo = &thread->entered[i];

		if (rt_load(&redo->row))
			continue;
		rt_store(&redo->slot, slot == &thread->spill ? RT_SLOT_IS_SPILL : RT_NO_INDEX);
		rt_store(&redo->sequence_after, 0);
		rt_store(&redo->row, rt_load(&slot->row));
		return redo;
	}
	return NULL;
}

/* Add @slot to the even row, by way of @redo; false when another thread was faster. */
static bool row_add_once(struct ledger_slot *slot, struct ledger_redo *redo, uint32_t cache_index)
{
	struct ledger_row *row = rt_redo_row(redo);
	uint64_t sequence = rt_load_acquire(&row->sequence);

	if (sequence & LEDGER_SEQ_ODD)
		return false;
	rt_store(&redo->sequence_after, rt_sequence_after(sequence));
	atomic_signal_fence(memory_order_seq_cst);
	if (!rt_row_enter(row, sequence, cache_index))
		return false;
	(void)rt_row_add_up(row, slot, &redo->values);
	rt_store_release(&redo->active, 1);
	rt_redo_apply(redo, slot);
	return true;
}

/* This thread itself is at @row, further out. */
static bool is_at(const struct rt_thread *thread, const struct ledger_row *row)
{
	uint64_t sequence = rt_load(&row->sequence);

	return thread && (sequence & LEDGER_SEQ_ODD) &&
	       LEDGER_SEQ_CACHE(sequence) == thread->cache_index;
}

/*
 * Add @slot, which is not in the ledger, to its row; if it is the spill, that is emptied. Not by the
 * redo record of the cache: that may be in use further out. False: this thread itself is at that
 * row, further out, or somebody does not leave, or handlers interrupted each other too often.
 */
static bool row_add(struct rt_thread *thread, struct ledger_slot *slot)
{
	struct ledger_redo own = { .row = rt_load(&slot->row), .slot = RT_NO_INDEX };
	struct ledger_redo *redo = thread ? entered_take(thread, slot) : &own;
	bool added = false;

	for (unsigned tries = 0; redo && !added; tries++) {
		added = row_add_once(slot, redo, index_of(thread));
		if (!added && (is_at(thread, rt_redo_row(redo)) || !rt_row_await(tries)))
			break;
	}
	if (redo)
		rt_store_release(&redo->row, 0);
	return added;
}

/* Sum of operations that have left the live total already, for a row that cannot be had. */
static void no_stack_add(const struct ledger_slot *slot)
{
	struct ledger_row *row = &rt_global.rows[0];

	rt_add(&row->allocs, rt_load(&slot->allocs));
	rt_add(&row->alloc_bytes, rt_load(&slot->alloc_bytes));
	rt_add(&row->frees, rt_load(&slot->frees));
	rt_add(&row->freed_bytes, rt_load(&slot->freed_bytes));
}

/* Frees that happened just now: a peak before them has the blocks. */
static bool row_add_frees(struct rt_thread *thread, uint32_t row, uint64_t frees, uint64_t bytes,
			  bool last_resort)
{
	struct ledger_slot slot = { .row = row, .frees = frees, .freed_bytes = bytes };

	rt_store(&slot.turn, UINT64_MAX);
	if (row_add(thread, &slot))
		return true;
	if (last_resort)
		no_stack_add(&slot);
	return last_resort;
}

/* Leave it to the flush that a handler interrupted; handlers may interrupt each other here. */
static bool late_put(struct rt_thread *thread, uint32_t row, uint64_t size)
{
	for (struct rt_late *late = thread->late; late < thread->late + RT_LATE_ROWS; late++) {
		uint64_t seen = 0;

		if (!atomic_compare_exchange_strong_explicit(
			    &late->row_frees, &seen, (uint64_t)row << 32, memory_order_relaxed,
			    memory_order_relaxed) &&
		    seen >> 32 != row)
			continue;
		/* If it is left in between, no bytes stay for the next row in this place. */
		rt_add(&late->row_frees, 1);
		rt_add(&late->bytes, size);
		return true;
	}
	return false;
}

static void late_settle(struct rt_thread *thread, struct rt_late *late)
{
	uint64_t seen = rt_load(&late->row_frees);

	while (seen) {
		uint32_t frees = (uint32_t)seen;
		/* The row's place is free again only when no handler has added meanwhile. */
		uint64_t after = frees ? seen - frees : 0;

		if (atomic_compare_exchange_strong_explicit(&late->row_frees, &seen, after,
							    memory_order_relaxed,
							    memory_order_relaxed) &&
		    frees) {
			(void)row_add_frees(
				thread, (uint32_t)(seen >> 32), frees,
				atomic_exchange_explicit(&late->bytes, 0, memory_order_relaxed),
				true);
		}
		seen = rt_load(&late->row_frees);
	}
}

/* A row that this thread is at further out: what a reader takes, and the owner will store. */
static void row_change(struct rt_thread *thread, uint32_t id, uint64_t frees, uint64_t bytes)
{
	struct ledger_row *row = &rt_global.rows[rt_row_index(id)];
	struct ledger_redo *redo = &thread->cache->redo;

	rt_add(&row->frees, frees);
	rt_add(&row->freed_bytes, bytes);
	if (rt_load(&redo->active) && rt_load(&redo->row) == id) {
		redo->values.frees += frees;
		redo->values.freed_bytes += bytes;
	}
}

void rt_late_show(struct rt_thread *thread)
{
	for (struct rt_late *late = thread->late; late < thread->late + RT_LATE_ROWS; late++) {
		uint64_t seen = rt_load(&late->row_frees);
		uint32_t row = (uint32_t)(seen >> 32);

		/* Shown already by a handler further out, or nothing there. */
		if (late->shown_frees || !(uint32_t)seen)
			continue;
		if (!is_at(thread, &rt_global.rows[rt_row_index(row)])) {
			late_settle(thread, late);
			continue;
		}
		late->shown_frees = (uint32_t)seen;
		late->shown_bytes = rt_load(&late->bytes);
		row_change(thread, row, late->shown_frees, late->shown_bytes);
	}
}

void rt_late_hide(struct rt_thread *thread)
{
	for (struct rt_late *late = thread->late; late < thread->late + RT_LATE_ROWS; late++) {
		if (!late->shown_frees)
			continue;
		row_change(thread, (uint32_t)(rt_load(&late->row_frees) >> 32),
			   -(uint64_t)late->shown_frees, -late->shown_bytes);
		late->shown_frees = 0;
	}
}

void rt_settle(struct rt_thread *thread)
{
	struct ledger_slot *slot = &thread->spill;

	do {
		/* First: what handlers leave here during the rest is seen at the end. */
		rt_store(&thread->unsettled, 0);
		atomic_signal_fence(memory_order_seq_cst);
		rt_redo_entered(thread, thread->cache_index, true);
		rt_redo_entered(thread, thread->cache_index, false);
		if (rt_load(&slot->row) && !row_add(thread, slot)) {
			no_stack_add(slot);
			rt_slot_empty(slot, 0);
		}
		for (unsigned i = 0; i < RT_LATE_ROWS; i++)
			late_settle(thread, &thread->late[i]);
		atomic_signal_fence(memory_order_seq_cst);
	} while (rt_load(&thread->unsettled));
}

void rt_row_free(struct rt_thread *thread, uint32_t row, uint64_t size)
{
	if (!rt_mine.control)
		return;
	rt_add(&rt_global.state->live_bytes, -(int64_t)size);
	/* A row that is left half done from here on is completed by whom we interrupted. */
	if (thread)
		rt_store(&thread->unsettled, 1);
	if (!row_add_frees(thread, row, 1, size, !thread) && !late_put(thread, row, size))
		(void)row_add_frees(thread, row, 1, size, true);
}

void rt_no_stack_alloc(uint64_t size)
{
	struct ledger_row *row = &rt_global.rows[0];

	if (!rt_mine.control)
		return;
	rt_add(&row->allocs, 1);
	rt_add(&row->alloc_bytes, size);
	rt_add(&rt_global.state->live_bytes, (int64_t)size);
}

void rt_no_stack_free(uint64_t size)
{
	struct ledger_row *row = &rt_global.rows[0];

	if (!rt_mine.control)
		return;
	rt_add(&rt_global.state->live_bytes, -(int64_t)size);
	rt_add(&row->frees, 1);
	rt_add(&row->freed_bytes, size);
}
