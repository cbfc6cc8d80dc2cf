/* SPDX-License-Identifier: MIT */
#include "runtime/track/counters.h"

#include "runtime/life/sys.h"
#include "runtime/life/tables.h"

enum {
	GROUP = 4, /* slots in which a row may stand: its home and the three beside it */
	GROW_FACTOR = 4,
	SLOTS_MANY_THREADS = 1024, /* 64 KiB per thread; more only for a few threads */
	YIELDS = 50,		   /* at a row that another thread does not leave, */
	SLEEPS = 10,		   /* of a millisecond */
};

/* In the redo record of a row that is changed without a slot, where RT_NO_INDEX means "none". */
#define SLOT_IS_SPILL (RT_NO_INDEX - 1)
#define SEQUENCE_MASK (((1ull << LEDGER_SEQ_COUNT_SHIFT) - 1))

void rt_slot_capture(struct ledger_slot *slot, uint64_t turn, int64_t blocks, int64_t bytes)
{
	/* The reader takes live, then turn, then at. */
	rt_store(&slot->at_blocks, blocks);
	rt_store(&slot->at_bytes, bytes);
	rt_store_release(&slot->turn, turn);
}

/* ---- flushing ------------------------------------------------------------------------------ */

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

static uint64_t sequence_after(uint64_t sequence)
{
	return ((sequence >> LEDGER_SEQ_COUNT_SHIFT) + 1) << LEDGER_SEQ_COUNT_SHIFT;
}

static struct ledger_row *redo_row(const struct ledger_redo *redo)
{
	return &rt_global.rows[rt_row_index(rt_load(&redo->row))];
}

/* Store what the redo record says, with which @spill may have to be emptied; may be repeated. */
static void redo_apply(struct ledger_redo *redo, struct ledger_slot *spill)
{
	struct ledger_row *row = redo_row(redo);
	uint64_t slot = rt_load(&redo->slot);

	row_store(row, &redo->values);
	if (slot == SLOT_IS_SPILL)
		slot_empty(spill, 0);
	else if (slot != RT_NO_INDEX)
		slot_empty(&rt_global.slots[slot], rt_load(&redo->turn_after));
	rt_store_release(&row->sequence, rt_load(&redo->sequence_after));
	rt_store_release(&redo->active, 0);
}

/*
 * Complete @redo if its active is @active. Its row may not be ours, or not any more: then it was
 * never entered or is complete, and others, or a handler of this thread, may have been there since.
 */
static void redo_begun(struct ledger_redo *redo, struct ledger_slot *spill, uint32_t cache_index,
		       bool active)
{
	uint64_t sequence;

	if (!rt_load(&redo->row) || (rt_load(&redo->active) != 0) != active)
		return;
	sequence = rt_load(&redo_row(redo)->sequence);
	if ((sequence & LEDGER_SEQ_ODD) && LEDGER_SEQ_CACHE(sequence) == cache_index &&
	    sequence_after(sequence) == rt_load(&redo->sequence_after)) {
		if (active)
			redo_apply(redo, spill);
		else /* the row was taken, but nothing was changed yet */
			rt_store_release(&redo_row(redo)->sequence, sequence_after(sequence));
	}
	rt_store(&redo->active, 0);
	atomic_signal_fence(memory_order_seq_cst);
	rt_store(&redo->row, 0);
}

static void redo_entered(struct rt_thread *thread, uint32_t cache_index, bool active)
{
	for (unsigned i = 0; thread && i < RT_LATE_ROWS; i++)
		redo_begun(&thread->entered[i], &thread->spill, cache_index, active);
}

void rt_redo(struct ledger_cache *cache, uint32_t cache_index, struct rt_thread *thread)
{
	/* Of those that are about one count of one row, only an active one has surely entered it. */
	redo_begun(&cache->redo, NULL, cache_index, true);
	redo_entered(thread, cache_index, true);
	redo_begun(&cache->redo, NULL, cache_index, false);
	redo_entered(thread, cache_index, false);
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

static void row_values(const struct ledger_row *row, struct ledger_row_values *ret_values)
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

/* Make the row's even @sequence odd; false when it has moved. */
static bool row_enter(struct ledger_row *row, uint64_t sequence, uint32_t cache_index)
{
	return atomic_compare_exchange_strong_explicit(
		&row->sequence, &sequence,
		(sequence & ~SEQUENCE_MASK) | (uint64_t)cache_index << LEDGER_SEQ_CACHE_SHIFT |
			LEDGER_SEQ_ODD,
		memory_order_acq_rel, memory_order_relaxed);
}

/* The row and its slot together, at the present turn, which is returned. The row is entered. */
static uint64_t add_up(const struct ledger_row *row, struct ledger_slot *slot,
		       struct ledger_row_values *ret_values)
{
	uint64_t turn = rt_load_acquire(&rt_global.control->peak_turn);

	if (rt_load(&slot->turn) < turn)
		rt_slot_capture(slot, turn, rt_slot_blocks(slot), rt_slot_bytes(slot));
	row_values(row, ret_values);
	bring_to_turn(ret_values, turn);
	add_slot(ret_values, slot);
	return turn;
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
	rt_store(&redo->sequence_after, sequence_after(sequence));
	atomic_signal_fence(memory_order_seq_cst);
	if (!row_enter(row, sequence, thread->cache_index))
		return false;
	turn = add_up(row, slot, &redo->values);
	rt_store(&redo->slot, (uint64_t)(slot - rt_global.slots));
	rt_store(&redo->turn_after, turn);
	rt_store_release(&redo->active, 1);
	redo_apply(redo, NULL);
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
		if (!await_row(tries))
			return take_spill(thread, row);
	}
}

/* ---- without a slot ------------------------------------------------------------------------ */

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
		rt_store(&redo->slot, slot == &thread->spill ? SLOT_IS_SPILL : RT_NO_INDEX);
		rt_store(&redo->sequence_after, 0);
		rt_store(&redo->row, rt_load(&slot->row));
		return redo;
	}
	return NULL;
}

/* Add @slot to the even row, by way of @redo; false when another thread was faster. */
static bool row_add_once(struct ledger_slot *slot, struct ledger_redo *redo, uint32_t cache_index)
{
	struct ledger_row *row = redo_row(redo);
	uint64_t sequence = rt_load_acquire(&row->sequence);

	if (sequence & LEDGER_SEQ_ODD)
		return false;
	rt_store(&redo->sequence_after, sequence_after(sequence));
	atomic_signal_fence(memory_order_seq_cst);
	if (!row_enter(row, sequence, cache_index))
		return false;
	(void)add_up(row, slot, &redo->values);
	rt_store_release(&redo->active, 1);
	redo_apply(redo, slot);
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
		if (!added && (is_at(thread, redo_row(redo)) || !await_row(tries)))
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
		redo_entered(thread, thread->cache_index, true);
		redo_entered(thread, thread->cache_index, false);
		if (rt_load(&slot->row) && !row_add(thread, slot)) {
			no_stack_add(slot);
			slot_empty(slot, 0);
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
