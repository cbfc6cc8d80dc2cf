/* SPDX-License-Identifier: MIT */
/*
 * Counting one operation: a thread's write-combining slots, their flush into rows, and the peak
 * by stack. docs/internals/ledger.md, "counters" and "peak", has the protocol and its guarantees.
 */
#ifndef SEEP_RUNTIME_COUNTERS_H
#define SEEP_RUNTIME_COUNTERS_H

#include "runtime/rt.h"
#include "runtime/track/thread.h"

/* The slot of @row for @thread, emptied from another row if need be; or its spill. Never NULL. */
RT_COLD struct ledger_slot *rt_slot_make(struct rt_thread *thread, uint32_t row);

RT_INLINE struct ledger_slot *rt_slot(struct rt_thread *thread, uint32_t row)
{
	struct ledger_slot *slot = &thread->slots[row & thread->slot_mask];

	if (RT_LIKELY(rt_load(&slot->row) == row))
		return slot;
	return rt_slot_make(thread, row);
}

/* Add @slot to its row and empty it, if nobody is at that row just now. */
RT_COLD void rt_slot_flush(struct rt_thread *thread, struct ledger_slot *slot);

/*
 * Complete the rows that a hook left by longjmp, or a thread that is gone, had entered; those of
 * handlers too, if its private state @thread is known, else NULL.
 */
void rt_redo(struct ledger_cache *cache, uint32_t cache_index, struct rt_thread *thread);

/*
 * In a handler that may be about to replace the program: show in their rows the frees that wait for
 * the interrupted flush; and take them away again, before it goes on.
 */
void rt_late_show(struct rt_thread *thread);
void rt_late_hide(struct rt_thread *thread);

/* Count in the slots that the cache says it has. */
void rt_slots_find(struct rt_thread *thread);

/* The slot's figures become those "at" turn @turn. */
RT_COLD void rt_slot_capture(struct ledger_slot *slot, uint64_t turn, int64_t blocks,
			     int64_t bytes);

RT_INLINE int64_t rt_slot_blocks(const struct ledger_slot *slot)
{
	return (int64_t)(rt_load(&slot->allocs) - rt_load(&slot->frees));
}

RT_INLINE int64_t rt_slot_bytes(const struct ledger_slot *slot)
{
	return (int64_t)(rt_load(&slot->alloc_bytes) - rt_load(&slot->freed_bytes));
}

/* Before and after changing a slot: a peak captured meanwhile must see the old figures. */
RT_INLINE uint64_t rt_slot_begin(struct ledger_slot *slot, const struct ledger_control *control)
{
	uint64_t turn = rt_load(&control->peak_turn);

	if (RT_UNLIKELY(rt_load(&slot->turn) < turn))
		rt_slot_capture(slot, turn, rt_slot_blocks(slot), rt_slot_bytes(slot));
	atomic_signal_fence(memory_order_acq_rel);
	return turn;
}

RT_INLINE void rt_slot_end(struct ledger_slot *slot, const struct ledger_control *control,
			   uint64_t turn, int64_t blocks, int64_t bytes)
{
	atomic_signal_fence(memory_order_acq_rel);
	if (RT_UNLIKELY(rt_load(&control->peak_turn) != turn))
		rt_slot_capture(slot, rt_load(&control->peak_turn), rt_slot_blocks(slot) - blocks,
				rt_slot_bytes(slot) - bytes);
}

RT_INLINE void rt_slot_alloc(struct ledger_slot *slot, const struct ledger_control *control,
			     uint64_t size)
{
	uint64_t turn = rt_slot_begin(slot, control);

	rt_add_own(&slot->allocs, 1);
	rt_add_own(&slot->alloc_bytes, size);
	rt_slot_end(slot, control, turn, 1, (int64_t)size);
}

RT_INLINE void rt_slot_free(struct ledger_slot *slot, const struct ledger_control *control,
			    uint64_t size)
{
	uint64_t turn = rt_slot_begin(slot, control);

	rt_add_own(&slot->frees, 1);
	rt_add_own(&slot->freed_bytes, size);
	rt_slot_end(slot, control, turn, -1, -(int64_t)size);
}

/* The live total grew by @bytes; after the slot was changed. */
RT_COLD void rt_rise_shared(struct rt_thread *thread, int64_t bytes);
/* The live total is about to fall by @bytes; before the slot is changed. */
RT_COLD void rt_fall_shared(struct rt_thread *thread, int64_t bytes);
/* G = @live is a new maximum and the only thread is about to lower it. */
RT_COLD void rt_peak_alone(struct ledger_control *control, int64_t live);

RT_INLINE void rt_rise(struct rt_thread *thread, const struct ledger_control *control,
		       uint64_t bytes)
{
	if (RT_LIKELY(rt_load(&control->caches) == 1)) {
		rt_add_own(&thread->cache->first, (int64_t)bytes);
		return;
	}
	int64_t sum = rt_load(&thread->cache->sum) + (int64_t)bytes;

	if (RT_UNLIKELY(sum >= rt_load(&rt_global.threshold_bytes)))
		rt_rise_shared(thread, sum);
	else
		rt_store(&thread->cache->sum, sum);
}

RT_INLINE void rt_fall(struct rt_thread *thread, struct ledger_control *control, uint64_t bytes)
{
	if (RT_LIKELY(rt_load(&control->caches) == 1)) {
		int64_t first = rt_load(&thread->cache->first);
		int64_t live = first + rt_load(&rt_global.state->live_bytes);

		if (RT_UNLIKELY(live > rt_load(&rt_global.state->peak_bytes)))
			rt_peak_alone(control, live);
		rt_store(&thread->cache->first, first - (int64_t)bytes);
		return;
	}
	int64_t sum = rt_load(&thread->cache->sum) - (int64_t)bytes;

	if (RT_UNLIKELY(sum <= -rt_load(&rt_global.threshold_bytes)))
		rt_fall_shared(thread, (int64_t)bytes);
	else
		rt_store(&thread->cache->sum, sum);
}

/* T, after n or M has changed. */
void rt_threshold_update(void);

/*
 * Without slots: nested in our own bookkeeping, or without a cache. The "no stack" row is changed
 * by atomic adds only and never stands in a slot. rt_row_free counts in @row, of this process's own,
 * and takes it out of the live total; @thread may be NULL. All do nothing in a forked child that
 * has no ledger (yet): see rt_thread_start.
 */
RT_COLD void rt_row_free(struct rt_thread *thread, uint32_t row, uint64_t size);
RT_COLD void rt_no_stack_alloc(uint64_t size);
RT_COLD void rt_no_stack_free(uint64_t size);

#endif
