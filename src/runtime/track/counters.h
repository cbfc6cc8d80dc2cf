/* SPDX-License-Identifier: MIT */
/*
 * Counting one operation: a thread's write-combining slots, and what is counted without one.
 * docs/internals/ledger.md, "counters" and "peak", has the protocol and its guarantees.
 */
#ifndef SEEP_RUNTIME_COUNTERS_H
#define SEEP_RUNTIME_COUNTERS_H

#include "runtime/rt.h"
#include "runtime/track/thread.h"

/*
 * The slot of @row for @thread, emptied from another row if need be. NULL when other threads are
 * at the rows of all, or @row was never handed out: then the operation is counted without one, as
 * below.
 */
RT_COLD struct ledger_slot *rt_slot_make(struct rt_thread *thread, uint32_t row);

RT_INLINE struct ledger_slot *rt_slot(struct rt_thread *thread, uint32_t row)
{
	struct ledger_slot *slot = &thread->slots[row & thread->slot_mask];

	if (RT_LIKELY(rt_load(&slot->row) == row))
		return slot;
	return rt_slot_make(thread, row);
}

/* Count in the slots of thread->slots_at, and say so in the cache. */
void rt_slots_find(struct rt_thread *thread);

/* Of a cache's histogram. */
static inline unsigned rt_bucket(uint64_t size)
{
	unsigned bucket = core_bit_width(size);

	return bucket < LEDGER_HISTOGRAM_BUCKETS ? bucket : LEDGER_HISTOGRAM_BUCKETS - 1;
}

/* These figures become those "at" turn @turn. */
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

/*
 * A peak was captured since the slot last changed: its figures are those of that moment, and are put
 * aside before they change. The reader takes live, then turn, then at.
 */
RT_INLINE void rt_slot_bring(struct ledger_slot *slot, uint64_t turn)
{
	if (RT_LIKELY(rt_load(&slot->turn) >= turn))
		return;
	rt_store(&slot->at_blocks, rt_slot_blocks(slot));
	rt_store(&slot->at_bytes, rt_slot_bytes(slot));
	rt_store_release(&slot->turn, turn);
}

/* Before and after changing a slot: a peak captured meanwhile must see the old figures. */
RT_INLINE uint64_t rt_slot_begin(struct ledger_slot *slot, const struct ledger_control *control)
{
	uint64_t turn = rt_load(&control->peak_turn);

	rt_slot_bring(slot, turn);
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

/* The end of bookkeeping with a slot that was changed, when meanwhile a peak was captured. */
RT_COLD void rt_slot_leave(struct rt_thread *thread, struct ledger_slot *slot, uint64_t turn,
			   int64_t blocks, int64_t bytes);

RT_INLINE void rt_slot_alloc(struct ledger_slot *slot, const struct ledger_control *control,
			     uint64_t size)
{
	uint64_t turn = rt_slot_begin(slot, control);

	rt_bump(&slot->allocs, 1);
	rt_bump(&slot->alloc_bytes, size);
	rt_slot_end(slot, control, turn, 1, (int64_t)size);
}

RT_INLINE void rt_slot_free(struct ledger_slot *slot, const struct ledger_control *control,
			    uint64_t size)
{
	uint64_t turn = rt_slot_begin(slot, control);

	rt_bump(&slot->frees, 1);
	rt_bump(&slot->freed_bytes, size);
	rt_slot_end(slot, control, turn, -1, -(int64_t)size);
}

/*
 * Counting without a slot, by atomic adds to words that nobody stores to: what a thread without a
 * cache does, a handler that interrupted our bookkeeping, and a thread all of whose slots stand for
 * rows that other threads are flushing. An allocation counts without a stack, a free in its block's
 * @row, which may be the "no stack" row. rt_direct_* change the live total too. Without a ledger they
 * count early: in private memory, which goes into the ledger when it is there. Any thread, any signal.
 * @usable: what the block held, 0 if that was not counted. docs/internals/ledger.md, "Counters".
 */
RT_COLD void rt_row_free(uint32_t row, uint64_t size);
RT_COLD void rt_direct_alloc(uint64_t size);
/* @live: by which the live total falls (tier.h). */
RT_COLD void rt_direct_free(uint32_t row, uint64_t size, uint64_t live, uint64_t usable);
/* Of an ancestor's block, and of none that is known. @thread: NULL if it has no state. */
RT_COLD void rt_inherited_free(struct rt_thread *thread, uint64_t size);
RT_COLD void rt_unknown_free(struct rt_thread *thread);
/* In tier "sampled": an allocation that is not taken. @live: by which the live total rises. */
RT_COLD void rt_pass_directly(struct rt_thread *thread, uint64_t size, uint64_t live);

/* What was counted early, into the ledger, if that is there. Gives this thread its state. */
RT_COLD void rt_early_settle(void);
/* In a forked child, whose parent's it is a copy of. */
void rt_early_drop(void);

struct rt_sum {
	uint64_t allocs;
	uint64_t alloc_bytes;
	uint64_t frees;
	uint64_t freed_bytes;
	uint64_t inherited_frees;
	uint64_t inherited_freed_bytes;
};

/* All that this process has done, if it is little and this thread has done it; else false. */
RT_COLD bool rt_sum_all(struct rt_sum *ret_sum);

#endif
