/* SPDX-License-Identifier: MIT */
/*
 * Entering a row to change it, with a record of what it is to hold, so that whoever comes after a
 * thread that stopped in the middle can complete it. docs/internals/ledger.md, "A flush" and "Redo".
 */
#ifndef SEEP_RUNTIME_REDO_H
#define SEEP_RUNTIME_REDO_H

#include "runtime/sys/tables.h"
#include "runtime/track/counters.h"

/* In the redo record of a row that is changed without a slot, where RT_NO_INDEX means "none". */
#define RT_SLOT_IS_SPILL (RT_NO_INDEX - 1)
#define RT_SEQUENCE_MASK ((1ull << LEDGER_SEQ_COUNT_SHIFT) - 1)

static inline void rt_row_store(struct ledger_row *row, const struct ledger_row_values *values)
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

static inline void rt_slot_empty(struct ledger_slot *slot, uint64_t turn)
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

static inline uint64_t rt_sequence_after(uint64_t sequence)
{
	return ((sequence >> LEDGER_SEQ_COUNT_SHIFT) + 1) << LEDGER_SEQ_COUNT_SHIFT;
}

static inline struct ledger_row *rt_redo_row(const struct ledger_redo *redo)
{
	return &rt_global.rows[rt_row_index(rt_load(&redo->row))];
}

/* Store what the redo record says, with which @spill may have to be emptied; may be repeated. */
static inline void rt_redo_apply(struct ledger_redo *redo, struct ledger_slot *spill)
{
	struct ledger_row *row = rt_redo_row(redo);
	uint64_t slot = rt_load(&redo->slot);

	rt_row_store(row, &redo->values);
	if (slot == RT_SLOT_IS_SPILL)
		rt_slot_empty(spill, 0);
	else if (slot != RT_NO_INDEX)
		rt_slot_empty(&rt_global.slots[slot], rt_load(&redo->turn_after));
	rt_store_release(&row->sequence, rt_load(&redo->sequence_after));
	rt_store_release(&redo->active, 0);
}

static inline void rt_values_bring_to_turn(struct ledger_row_values *values, uint64_t turn)
{
	if (values->turn >= turn)
		return;
	values->at_blocks = (int64_t)(values->allocs - values->frees);
	values->at_bytes = (int64_t)(values->alloc_bytes - values->freed_bytes);
	values->turn = turn;
}

static inline void rt_values_add_slot(struct ledger_row_values *values,
				      const struct ledger_slot *slot)
{
	values->allocs += rt_load(&slot->allocs);
	values->alloc_bytes += rt_load(&slot->alloc_bytes);
	values->frees += rt_load(&slot->frees);
	values->freed_bytes += rt_load(&slot->freed_bytes);
	values->temporaries += rt_load(&slot->temporaries);
	values->at_blocks += rt_load(&slot->at_blocks);
	values->at_bytes += rt_load(&slot->at_bytes);
}

static inline void rt_values_of_row(const struct ledger_row *row,
				    struct ledger_row_values *ret_values)
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
static inline bool rt_row_enter(struct ledger_row *row, uint64_t sequence, uint32_t cache_index)
{
	return atomic_compare_exchange_strong_explicit(
		&row->sequence, &sequence,
		(sequence & ~RT_SEQUENCE_MASK) | (uint64_t)cache_index << LEDGER_SEQ_CACHE_SHIFT |
			LEDGER_SEQ_ODD,
		memory_order_acq_rel, memory_order_relaxed);
}

/* The row and its slot together, at the present turn, which is returned. The row is entered. */
static inline uint64_t rt_row_add_up(const struct ledger_row *row, struct ledger_slot *slot,
				     struct ledger_row_values *ret_values)
{
	uint64_t turn = rt_load_acquire(&rt_global.control->peak_turn);

	if (rt_load(&slot->turn) < turn)
		rt_slot_capture(slot, turn, rt_slot_blocks(slot), rt_slot_bytes(slot));
	rt_values_of_row(row, ret_values);
	rt_values_bring_to_turn(ret_values, turn);
	rt_values_add_slot(ret_values, slot);
	return turn;
}

/*
 * Complete the rows that a hook left by longjmp, or a thread that is gone, had entered; those of
 * handlers too, if its private state @thread is known, else NULL.
 */
void rt_redo(struct ledger_cache *cache, uint32_t cache_index, struct rt_thread *thread);

/* Wait for whoever is at a row: the first times let it run, then sleep. False: long enough. */
bool rt_row_await(unsigned tries);

/* Complete what handlers of @thread had entered, of which active is @active; @thread may be NULL. */
void rt_redo_entered(struct rt_thread *thread, uint32_t cache_index, bool active);

#endif
