/* SPDX-License-Identifier: MIT */
/*
 * A thread's private state, one per cache of the ledger and reused with it. There is no thread
 * destructor: a starting thread looks for a cache whose owner is gone and goes on with it.
 */
#ifndef SEEP_RUNTIME_THREAD_H
#define SEEP_RUNTIME_THREAD_H

#include "runtime/rt.h"
#include "runtime/unwind/walk.h"

enum { RT_DEFERRED_MAX = 128 };

struct rt_thread {
	struct ledger_cache *cache;
	struct ledger_slot *slots;
	uint32_t slot_mask;
	uint32_t conflicts;   /* since the slots last grew */
	uintptr_t last_block; /* allocated last: freed next, it was a temporary */
	uint32_t tid;
	uint32_t cache_index;
	/* Frees by a signal handler that interrupted our bookkeeping; counted on the way out. */
	_Atomic uint32_t deferred_count;
	struct rt_deferred {
		uint32_t row;
		uint64_t size;
	} deferred[RT_DEFERRED_MAX];
	struct rt_walk walk;
	/* The row that the last walk led to; most often the next one does too. */
	struct rt_last_row {
		uint64_t hash;
		uint32_t sort; /* RT_SORT_NONE: it had no row of its own */
		uint32_t epoch;
		uint32_t row;
	} last_row;
};

/*
 * Give this thread its state. NULL when there is none to be had (nested in itself by a signal,
 * no cache or memory left): the caller then counts without a stack.
 */
RT_COLD struct rt_thread *rt_thread_start(void);

RT_INLINE struct rt_thread *rt_thread_self(void)
{
	struct rt_thread *thread = rt_tls.thread;

	return RT_LIKELY(thread != NULL) ? thread : rt_thread_start();
}

/*
 * Begin and end of bookkeeping in a hook with frame address @frame. rt_enter is false when this
 * thread is already keeping its books further out, i.e. a signal handler interrupted it; then
 * nothing but atomic adds to the "no stack" row is allowed, and rt_leave is not called.
 */
RT_COLD bool rt_enter_again(struct rt_thread *thread, uintptr_t frame);

RT_INLINE bool rt_enter(struct rt_thread *thread, const void *frame)
{
	if (RT_UNLIKELY(rt_load(&thread->cache->busy) != 0) &&
	    !rt_enter_again(thread, (uintptr_t)frame))
		return false;
	rt_store(&thread->cache->busy, (uintptr_t)frame);
	atomic_signal_fence(memory_order_seq_cst);
	return true;
}

/* Leave a free to the interrupted bookkeeping; false when there is no room. In handlers only. */
RT_COLD bool rt_defer(struct rt_thread *thread, uint32_t row, uint64_t size);

/* Count what handlers left in deferred. */
RT_COLD void rt_leave_deferred(struct rt_thread *thread);

RT_INLINE void rt_leave(struct rt_thread *thread)
{
	atomic_signal_fence(memory_order_seq_cst);
	if (RT_UNLIKELY(rt_load(&thread->deferred_count)))
		rt_leave_deferred(thread);
	rt_store(&thread->cache->busy, 0);
}

/* In a forked child: no thread has a cache yet. */
void rt_threads_forked(void);

#endif
