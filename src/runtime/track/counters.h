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

/*
 * The end of bookkeeping with a slot that was changed, when meanwhile a peak was captured or a block
 * freed by a signal handler.
 */
RT_COLD void rt_slot_leave(struct rt_thread *thread, struct ledger_slot *slot, uint64_t turn,
			   int64_t blocks, int64_t bytes);

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

#endif
