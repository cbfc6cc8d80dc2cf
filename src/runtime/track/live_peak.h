/* SPDX-License-Identifier: MIT */
/*
 * The live total, and the new turn that begins when it falls from a maximum.
 * docs/internals/ledger.md, "peak", has how exact this is, and calls the live total G (exact in
 * cache->first while there is one cache), peak_bytes M, the number of caches n, the turn E, and what a
 * thread may keep to itself, in cache->sum, T.
 */
#ifndef SEEP_RUNTIME_LIVE_PEAK_H
#define SEEP_RUNTIME_LIVE_PEAK_H

#include "runtime/rt.h"
#include "runtime/track/thread.h"

/* The thread tells all that it kept to itself of the live total, @sum; after the slot changed. */
RT_COLD void rt_rise_shared(struct rt_thread *thread, int64_t sum);
/*
 * The end of bookkeeping with @slot, to which an allocation of @bytes was added: the thread has as
 * much of the live total as it may keep to itself. Otherwise as rt_slot_leave().
 */
RT_COLD void rt_rise_and_leave(struct rt_thread *thread, struct ledger_slot *slot, uint64_t turn,
			       int64_t bytes);
/* The live total is about to fall by @bytes; before the slot is changed. */
RT_COLD void rt_fall_shared(struct rt_thread *thread, int64_t bytes);
/* G = @live is a new maximum and the only thread is about to lower it. */
RT_COLD void rt_peak_alone(struct ledger_control *control, int64_t live);

RT_INLINE void rt_rise(struct rt_thread *thread, const struct ledger_control *control,
		       uint64_t bytes)
{
	if (RT_LIKELY(rt_load(&control->caches) == 1)) {
		rt_bump((_Atomic uint64_t *)&thread->cache->first, bytes);
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

/* T, after n or M has changed, or G has grown by a quarter. */
void rt_threshold_update(void);

#endif
