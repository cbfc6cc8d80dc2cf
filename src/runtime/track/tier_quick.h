/* SPDX-License-Identifier: MIT */
/*
 * The common cases of tiers below "exact", as quick.h has that of "exact": an allocation passes, or counts at
 * its site; the free of one that passed. First all is looked at and nothing written but the busy word.
 */
#ifndef SEEP_RUNTIME_TIER_QUICK_H
#define SEEP_RUNTIME_TIER_QUICK_H

#include "runtime/track/quick.h"
#include "runtime/track/tier.h"

/* Enter, if nothing has changed that is looked at by who is not quick. NULL: not so. */
RT_INLINE struct ledger_control *rt_tier_enter(struct rt_thread *thread, const void *frame)
{
	struct ledger_control *control = rt_quick_enter(thread, frame);

	if (RT_UNLIKELY(!control))
		return NULL;
	if (RT_LIKELY(rt_mode_and_epoch(control) == rt_load(&thread->tier_quick)))
		return control;
	rt_leave(thread);
	return NULL;
}

/* False: it is taken, or nothing was done. *@ret_tells: the thread has to tell, rt_tier_tell(). */
RT_INLINE bool rt_tier_pass(struct rt_thread *thread, const void *block, size_t size,
			    const void *frame, bool *ret_tells)
{
	struct ledger_cache *cache;
	int64_t left, kept = 0;

	if (RT_UNLIKELY(!block) || RT_UNLIKELY(!rt_tier_enter(thread, frame)))
		return false;
	left = thread->tier_left - rt_tier_steps[core_bit_width_below(size)];
	if (RT_UNLIKELY(left < 0))
		return rt_quick_give_up(thread);
	cache = thread->cache;
	thread->tier_left = left;
	if (RT_LIKELY(rt_load(&rt_global.adds_passed))) {
		kept = (int64_t)(rt_load(&cache->passed_kept) + rt_chunk_bytes((uintptr_t)block));
		rt_store(&cache->passed_kept, (uint64_t)kept);
	}
	*ret_tells = kept > rt_load(&rt_tier_kept_most);
	rt_bump(&cache->passed_allocs, 1);
	rt_bump(&cache->passed_alloc_bytes, size);
	thread->last_block = (uintptr_t)block;
	rt_leave(thread);
	return true;
}

/* The free of one that passed. False: it may be a taken one's, and nothing was done. */
RT_INLINE bool rt_tier_pass_free(struct rt_thread *thread, const void *block, const void *frame,
				 bool *ret_tells)
{
	struct ledger_cache *cache;
	int64_t kept = 0;

	if (RT_UNLIKELY(rt_load(rt_taken_at((uintptr_t)block)) != 0) ||
	    RT_UNLIKELY(!rt_tier_enter(thread, frame)))
		return false;
	cache = thread->cache;
	if (RT_LIKELY(rt_load(&rt_global.adds_passed))) {
		kept = (int64_t)(rt_load(&cache->passed_kept) - rt_chunk_bytes((uintptr_t)block));
		rt_store(&cache->passed_kept, (uint64_t)kept);
	}
	*ret_tells = kept + rt_load(&rt_tier_kept_most) < 0;
	rt_bump(&cache->passed_frees, 1);
	rt_leave(thread);
	return true;
}

/* Count at the site, of a size that is not taken. False: nothing was done. */
RT_INLINE bool rt_tier_count(enum rt_quick quick, struct rt_thread *thread, struct rt_tier *tier,
			     void *block, size_t size, struct rt_alloc alloc, const void *frame)
{
	const uintptr_t ra = ((const uintptr_t *)frame)[1];
	const uint64_t key = alloc.key.word | thread->tag;
	const struct rt_site *site = rt_site_place(tier, ra, key);
	struct ledger_control *control;
	int64_t left;

	if (RT_UNLIKELY(!block) || RT_UNLIKELY((uintptr_t)block & RT_BLOCK_MASK) ||
	    RT_UNLIKELY(site->ra != ra) || RT_UNLIKELY(site->key != key) ||
	    RT_UNLIKELY(rt_load(&rt_names_generation) != rt_load(&thread->name_generation)) ||
	    RT_UNLIKELY(tier->generation != rt_load(&rt_generation)))
		return false;
	control = rt_tier_enter(thread, frame);
	if (RT_UNLIKELY(!control))
		return false;
	left = thread->tier_left;
	thread->tier_left = left - rt_tier_steps[core_bit_width_below(size)];
	if (RT_LIKELY(thread->tier_left >= 0) &&
	    RT_LIKELY(rt_quick_count(quick, thread, control, site->slot, site->row, block, size,
				     alloc)))
		return true;
	thread->tier_left = left;
	return rt_quick_give_up(thread);
}

#endif
