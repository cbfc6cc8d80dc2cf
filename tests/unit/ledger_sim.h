/* SPDX-License-Identifier: MIT */
/*
 * Threads that keep their books in a ledger as docs/internals/ledger.md prescribes, without a heap
 * behind them: slots, flushes with redo records, and the peak protocol. sim_step() stands between
 * any two stores that a kill may separate.
 */
#ifndef SEEP_TESTS_LEDGER_SIM_H
#define SEEP_TESTS_LEDGER_SIM_H

#include "ledger_build.h"

#include "ledger/ledger_peak.h"

#include <stdatomic.h>

struct sim_thread {
	struct built_ledger *ledger;
	struct ledger_cache *cache;
	struct ledger_slot *slots;
	uint32_t index;
	uint32_t mask;
};

/* Ends the process at the step with this number; 0 = never. For forked children only. */
static uint64_t sim_kill_at BUILD_UNUSED;
static uint64_t sim_steps BUILD_UNUSED;

static inline void sim_step(void)
{
	if (sim_kill_at && ++sim_steps == sim_kill_at)
		_exit(9);
}

#define SIM_LOAD(p) atomic_load_explicit(&(p), memory_order_acquire)
#define SIM_STORE(p, v)                                                 \
	do {                                                            \
		atomic_store_explicit(&(p), (v), memory_order_release); \
		sim_step();                                             \
	} while (0)

static BUILD_UNUSED void sim_thread_init(struct sim_thread *t, struct built_ledger *ledger,
					 uint32_t log2)
{
	t->ledger = ledger;
	t->index = built_cache(ledger, log2);
	t->cache = &ledger->caches[t->index];
	t->slots = built_slot(ledger, t->index, 0);
	t->mask = (1u << log2) - 1;
}

static inline int64_t sim_slot_blocks(struct ledger_slot *slot)
{
	return (int64_t)(SIM_LOAD(slot->allocs) - SIM_LOAD(slot->frees));
}

static inline int64_t sim_slot_bytes(struct ledger_slot *slot)
{
	return (int64_t)(SIM_LOAD(slot->alloc_bytes) - SIM_LOAD(slot->freed_bytes));
}

static inline void sim_slot_to_turn(struct ledger_slot *slot, uint64_t turn)
{
	if (SIM_LOAD(slot->turn) >= turn)
		return;
	SIM_STORE(slot->at_blocks, (int32_t)sim_slot_blocks(slot));
	SIM_STORE(slot->at_bytes, sim_slot_bytes(slot));
	SIM_STORE(slot->turn, turn);
}

/* What the row will hold after the flush of @slot. */
static inline void sim_flush_values(struct ledger_row *row, struct ledger_slot *slot, uint64_t turn,
				    struct ledger_row_values *values)
{
	values->allocs = SIM_LOAD(row->allocs);
	values->alloc_bytes = SIM_LOAD(row->alloc_bytes);
	values->frees = SIM_LOAD(row->frees);
	values->freed_bytes = SIM_LOAD(row->freed_bytes);
	values->temporaries = SIM_LOAD(row->temporaries) + SIM_LOAD(slot->temporaries);
	values->turn = SIM_LOAD(row->turn);
	values->at_blocks = SIM_LOAD(row->at_blocks);
	values->at_bytes = SIM_LOAD(row->at_bytes);
	if (values->turn < turn) {
		values->turn = turn;
		values->at_blocks = (int64_t)(values->allocs - values->frees);
		values->at_bytes = (int64_t)(values->alloc_bytes - values->freed_bytes);
	}
	values->at_blocks += SIM_LOAD(slot->at_blocks);
	values->at_bytes += SIM_LOAD(slot->at_bytes);
	values->allocs += SIM_LOAD(slot->allocs);
	values->alloc_bytes += SIM_LOAD(slot->alloc_bytes);
	values->frees += SIM_LOAD(slot->frees);
	values->freed_bytes += SIM_LOAD(slot->freed_bytes);
}

static inline void sim_flush_stores(struct sim_thread *t, struct ledger_row *row,
				    struct ledger_slot *slot)
{
	struct ledger_redo *redo = &t->cache->redo;

	SIM_STORE(row->allocs, redo->values.allocs);
	SIM_STORE(row->alloc_bytes, redo->values.alloc_bytes);
	SIM_STORE(row->frees, redo->values.frees);
	SIM_STORE(row->freed_bytes, redo->values.freed_bytes);
	SIM_STORE(row->temporaries, redo->values.temporaries);
	SIM_STORE(row->at_blocks, redo->values.at_blocks);
	SIM_STORE(row->at_bytes, redo->values.at_bytes);
	SIM_STORE(row->turn, redo->values.turn);
	SIM_STORE(slot->allocs, 0);
	SIM_STORE(slot->alloc_bytes, 0);
	SIM_STORE(slot->frees, 0);
	SIM_STORE(slot->freed_bytes, 0);
	SIM_STORE(slot->temporaries, 0);
	SIM_STORE(slot->at_blocks, 0);
	SIM_STORE(slot->at_bytes, 0);
	SIM_STORE(slot->turn, redo->turn_after);
	SIM_STORE(slot->row, 0);
}

/* False when another thread is flushing into the same row. */
static BUILD_UNUSED bool sim_flush(struct sim_thread *t, struct ledger_slot *slot)
{
	uint32_t id = SIM_LOAD(slot->row);
	struct ledger_row *row = built_row_at(t->ledger, id);
	struct ledger_redo *redo = &t->cache->redo;
	uint64_t even = SIM_LOAD(row->sequence);
	uint64_t count = even >> LEDGER_SEQ_COUNT_SHIFT;
	uint64_t odd = count << LEDGER_SEQ_COUNT_SHIFT |
		       (uint64_t)t->index << LEDGER_SEQ_CACHE_SHIFT | LEDGER_SEQ_ODD;
	uint64_t turn;

	if (even & LEDGER_SEQ_ODD)
		return false;
	SIM_STORE(redo->row, id);
	if (!atomic_compare_exchange_strong(&row->sequence, &even, odd))
		return false;
	sim_step();
	turn = SIM_LOAD(t->ledger->control->peak_turn);
	sim_slot_to_turn(slot, turn);
	sim_flush_values(row, slot, turn, &redo->values);
	SIM_STORE(redo->slot, (uint64_t)(slot - t->ledger->slots));
	SIM_STORE(redo->turn_after, turn);
	SIM_STORE(redo->active, 1);
	sim_flush_stores(t, row, slot);
	SIM_STORE(row->sequence, (count + 1) << LEDGER_SEQ_COUNT_SHIFT);
	SIM_STORE(redo->active, 0);
	return true;
}

/* The slot for @row: its own, an empty one, or one that is flushed to make room. */
static BUILD_UNUSED struct ledger_slot *sim_slot(struct sim_thread *t, uint32_t row)
{
	for (uint32_t i = row;; i++) {
		struct ledger_slot *slot = &t->slots[i & t->mask];
		uint32_t has = SIM_LOAD(slot->row);

		if (has == row)
			return slot;
		if (has != 0 && !sim_flush(t, slot))
			continue;
		SIM_STORE(slot->row, row);
		return slot;
	}
}

static BUILD_UNUSED void sim_change(struct sim_thread *t, uint32_t row, bool alloc, uint64_t bytes)
{
	struct ledger_slot *slot = sim_slot(t, row);
	_Atomic uint64_t *peak_turn = &t->ledger->control->peak_turn;
	uint64_t turn = SIM_LOAD(*peak_turn);
	int64_t blocks_before = sim_slot_blocks(slot);
	int64_t bytes_before = sim_slot_bytes(slot);

	sim_slot_to_turn(slot, turn);
	if (alloc) {
		SIM_STORE(slot->allocs, SIM_LOAD(slot->allocs) + 1);
		SIM_STORE(slot->alloc_bytes, SIM_LOAD(slot->alloc_bytes) + bytes);
	} else {
		SIM_STORE(slot->frees, SIM_LOAD(slot->frees) + 1);
		SIM_STORE(slot->freed_bytes, SIM_LOAD(slot->freed_bytes) + bytes);
	}
	atomic_thread_fence(memory_order_seq_cst);
	if (SIM_LOAD(*peak_turn) != turn) {
		SIM_STORE(slot->at_blocks, (int32_t)blocks_before);
		SIM_STORE(slot->at_bytes, bytes_before);
		SIM_STORE(slot->turn, SIM_LOAD(*peak_turn));
	}
}

static inline int64_t sim_threshold(struct sim_thread *t)
{
	return ledger_peak_threshold_bytes(SIM_LOAD(t->ledger->state->peak_bytes),
					   SIM_LOAD(t->ledger->control->caches));
}

static BUILD_UNUSED void sim_alloc(struct sim_thread *t, uint32_t row, uint64_t bytes)
{
	int64_t threshold = sim_threshold(t);
	int64_t sum;

	sim_change(t, row, true, bytes);
	SIM_STORE(t->cache->histogram[0], SIM_LOAD(t->cache->histogram[0]) + 1);
	sum = SIM_LOAD(t->cache->sum) + (int64_t)bytes;
	if (sum >= threshold || sum <= -threshold) {
		atomic_fetch_add(&t->ledger->state->live_bytes, sum);
		sum = 0;
	}
	SIM_STORE(t->cache->sum, sum);
}

/* Add the sum, and if that is a new peak close it before anything falls. */
static inline void sim_close_peak(struct sim_thread *t, int64_t sum)
{
	struct ledger_state *state = t->ledger->state;
	uint64_t turn = SIM_LOAD(t->ledger->control->peak_turn);
	int64_t live = atomic_fetch_add(&state->live_bytes, sum) + sum;
	int64_t peak = SIM_LOAD(state->peak_bytes);

	while (live > peak) {
		if (atomic_compare_exchange_strong(&t->ledger->control->peak_turn, &turn,
						   turn + 1)) {
			while (live > peak &&
			       !atomic_compare_exchange_strong(&state->peak_bytes, &peak, live))
				;
			return;
		}
		live = SIM_LOAD(state->live_bytes);
		peak = SIM_LOAD(state->peak_bytes);
	}
}

static BUILD_UNUSED void sim_free(struct sim_thread *t, uint32_t row, uint64_t bytes)
{
	int64_t threshold = sim_threshold(t);
	int64_t sum = SIM_LOAD(t->cache->sum);

	if (sum - (int64_t)bytes <= -threshold) {
		SIM_STORE(t->cache->sum, 0);
		sim_close_peak(t, sum);
		atomic_fetch_sub(&t->ledger->state->live_bytes, (int64_t)bytes);
	} else {
		SIM_STORE(t->cache->sum, sum - (int64_t)bytes);
	}
	sim_change(t, row, false, bytes);
}

#endif
