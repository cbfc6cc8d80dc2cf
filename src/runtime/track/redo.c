/* SPDX-License-Identifier: MIT */
#include "runtime/track/redo.h"

#include "runtime/sys/sys.h"

enum {
	YIELDS = 50, /* at a row that another thread does not leave, */
	SLEEPS = 10, /* of a millisecond */
};

/*
 * Complete @redo if its active is @active. Its row may not be ours, or not any more: then it was
 * never entered or is complete, and others, or a handler of this thread, may have been there since.
 */
static void complete(struct ledger_redo *redo, struct ledger_slot *spill, uint32_t cache_index,
		     bool active)
{
	uint64_t sequence;

	if (!rt_load(&redo->row) || (rt_load(&redo->active) != 0) != active)
		return;
	sequence = rt_load(&rt_redo_row(redo)->sequence);
	if ((sequence & LEDGER_SEQ_ODD) && LEDGER_SEQ_CACHE(sequence) == cache_index &&
	    rt_sequence_after(sequence) == rt_load(&redo->sequence_after)) {
		if (active)
			rt_redo_apply(redo, spill);
		else /* the row was taken, but nothing was changed yet */
			rt_store_release(&rt_redo_row(redo)->sequence, rt_sequence_after(sequence));
	}
	rt_store(&redo->active, 0);
	atomic_signal_fence(memory_order_seq_cst);
	rt_store(&redo->row, 0);
}

void rt_redo_entered(struct rt_thread *thread, uint32_t cache_index, bool active)
{
	for (unsigned i = 0; thread && i < RT_LATE_ROWS; i++)
		complete(&thread->entered[i], &thread->spill, cache_index, active);
}

void rt_redo(struct ledger_cache *cache, uint32_t cache_index, struct rt_thread *thread)
{
	/* Of those that are about one count of one row, only an active one has surely entered it. */
	complete(&cache->redo, NULL, cache_index, true);
	rt_redo_entered(thread, cache_index, true);
	complete(&cache->redo, NULL, cache_index, false);
	rt_redo_entered(thread, cache_index, false);
}

bool rt_row_await(unsigned tries)
{
	static const uint32_t never;

	if (tries < YIELDS)
		(void)rt_syscall3(SYS_sched_yield, 0, 0, 0);
	else
		(void)rt_futex_wait((void *)(uintptr_t)&never, 0, 1);
	return tries < YIELDS + SLEEPS;
}
