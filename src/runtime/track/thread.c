/* SPDX-License-Identifier: MIT */
#include "runtime/track/thread.h"

#include "runtime/life/lock.h"
#include "runtime/life/sys.h"
#include "runtime/life/tables.h"
#include "runtime/track/counters.h"
#include "runtime/track/record.h"

#include <errno.h>
#include <string.h>

enum {
	LOOK_AT = 16, /* caches looked at before a new one is handed out */
	SLOTS_LOG2_FIRST = 6,
};

__thread struct rt_tls rt_tls __attribute__((tls_model("initial-exec")));

/* Private states by cache index; kept for ever, reused by whoever adopts the cache. */
static struct rt_thread *_Atomic *threads;
static _Atomic uint32_t look_next;

static bool threads_map(void)
{
	uint64_t capacity = rt_global.header->table[LEDGER_TABLE_CACHES].capacity;
	struct rt_thread *_Atomic *expected = NULL;
	struct rt_thread *_Atomic *map;

	if (threads)
		return true;
	map = rt_mmap_sparse(capacity * sizeof(*map));
	if (!map)
		return false;
	if (!__atomic_compare_exchange_n(&threads, &expected, map, false, __ATOMIC_ACQ_REL,
					 __ATOMIC_ACQUIRE))
		(void)rt_syscall3(SYS_munmap, (long)map, (long)(capacity * sizeof(*map)), 0);
	return true;
}

/* Take over cache @index if its owner is gone, or had the thread id that is now ours. */
static bool adopt(uint32_t index, uint32_t tid)
{
	struct ledger_cache *cache = &rt_global.caches[index];
	uint32_t owner = rt_load(&cache->owner_tid);

	if (!rt_load_acquire(&cache->ready) || !owner)
		return false;
	if (owner != tid && rt_syscall3(SYS_tgkill, rt_global.pid, owner, 0) != -ESRCH)
		return false;
	if (!atomic_compare_exchange_strong_explicit(&cache->owner_tid, &owner, tid,
						     memory_order_acq_rel, memory_order_relaxed))
		return false;
	rt_redo(cache, index);
	rt_store(&cache->pending_row, 0);
	rt_store(&cache->busy, 0);
	return true;
}

static bool cache_new(uint32_t tid, uint32_t *ret_index)
{
	uint64_t index = rt_table_take(LEDGER_TABLE_CACHES, 1);
	struct ledger_cache *cache;
	uint64_t slots;

	if (index == RT_NO_INDEX)
		return false;
	slots = rt_table_take(LEDGER_TABLE_SLOTS, 1u << SLOTS_LOG2_FIRST);
	if (slots == RT_NO_INDEX)
		return false;
	cache = &rt_global.caches[index];
	rt_store(&cache->owner_tid, tid);
	rt_store(&cache->slots, slots << 8 | SLOTS_LOG2_FIRST);
	rt_store_release(&cache->ready, 1);
	rt_add(&rt_global.control->caches, 1);
	rt_threshold_update();
	*ret_index = (uint32_t)index;
	return true;
}

static bool cache_get(uint32_t tid, uint32_t *ret_index)
{
	uint32_t count = rt_load(&rt_global.control->caches);
	uint32_t looks = count < LOOK_AT ? count : LOOK_AT;

	for (uint32_t i = 0; i < looks; i++) {
		uint32_t index = atomic_fetch_add_explicit(&look_next, 1, memory_order_relaxed) %
				 count;

		if (adopt(index, tid)) {
			*ret_index = index;
			return true;
		}
	}
	if (cache_new(tid, ret_index))
		return true;
	for (uint32_t index = 0; index < count; index++)
		if (adopt(index, tid)) {
			*ret_index = index;
			return true;
		}
	rt_note_unseen(LEDGER_UNSEEN_CACHES_FULL);
	return false;
}

static struct rt_thread *thread_make(uint32_t index, uint32_t tid)
{
	struct ledger_cache *cache = &rt_global.caches[index];
	uint64_t slots = rt_load(&cache->slots);
	struct rt_thread *thread = rt_load(&threads[index]);

	if (!thread) {
		thread = rt_mmap(sizeof(*thread));
		if (!thread)
			return NULL;
		rt_store(&threads[index], thread);
	}
	if (!rt_walk_start(&thread->walk))
		return NULL;
	thread->cache = cache;
	thread->slots = &rt_global.slots[slots >> 8];
	thread->slot_mask = (1u << (slots & 63)) - 1;
	thread->conflicts = 0;
	thread->last_block = 0;
	thread->walk.full_walks = &cache->walks_full;
	thread->last_row = (struct rt_last_row){ .sort = RT_SORT_NONE };
	thread->tid = tid;
	thread->cache_index = index;
	/* Left by the thread that had this state before. */
	if (rt_load(&thread->deferred_count))
		rt_leave_deferred(thread);
	return thread;
}

struct rt_thread *rt_thread_start(void)
{
	struct rt_thread *thread = NULL;
	uint32_t tid;
	uint32_t index;

	if (rt_tls.starting)
		return NULL;
	rt_tls.starting = 1;
	atomic_signal_fence(memory_order_seq_cst);
	tid = rt_gettid();
	rt_lock_recover(tid);
	if (threads_map() && cache_get(tid, &index)) {
		thread = thread_make(index, tid);
		rt_add(&rt_global.state->threads_started, 1);
	}
	atomic_signal_fence(memory_order_seq_cst);
	rt_tls.thread = thread;
	/* Without a cache it stays set: the next allocation would find none either. */
	if (thread)
		rt_tls.starting = 0;
	return thread;
}

/*
 * The busy frame is either interrupted by the signal handler that we are in, or was left by
 * longjmp. Handlers run below what they interrupt (or on another stack) and a signal frame stands
 * between; so a busy frame that is not further out, or is reached without one, cannot return.
 */
bool rt_enter_again(struct rt_thread *thread, uintptr_t frame)
{
	uint64_t busy = rt_load(&thread->cache->busy);

	if (busy != frame && rt_walk_meets_signal((const uintptr_t *)frame, busy))
		return false;
	rt_redo(thread->cache, thread->cache_index);
	rt_lock_recover(thread->tid);
	rt_walk_drop(&thread->walk);
	thread->last_row = (struct rt_last_row){ .sort = RT_SORT_NONE };
	rt_add_own(&thread->cache->abandoned, 1);
	rt_store(&thread->cache->pending_row, 0);
	rt_store(&thread->cache->busy, 0);
	return true;
}

/* A handler may itself be interrupted by another one here: each takes a place of its own. */
bool rt_defer(struct rt_thread *thread, uint32_t row, uint64_t size)
{
	uint32_t at = atomic_fetch_add_explicit(&thread->deferred_count, 1, memory_order_relaxed);

	if (at >= RT_DEFERRED_MAX) {
		atomic_fetch_sub_explicit(&thread->deferred_count, 1, memory_order_relaxed);
		return false;
	}
	thread->deferred[at] = (struct rt_deferred){ row, size };
	return true;
}

void rt_leave_deferred(struct rt_thread *thread)
{
	uint32_t done = 0;
	uint32_t seen;

	/* A handler may add to the list while it is worked off: the list ends when none has. */
	do {
		for (seen = rt_load(&thread->deferred_count); done < seen; done++)
			rt_slot_free(rt_slot_make(thread, thread->deferred[done].row),
				     rt_global.control, thread->deferred[done].size);
	} while (!atomic_compare_exchange_strong_explicit(
		&thread->deferred_count, &seen, 0, memory_order_relaxed, memory_order_relaxed));
}

void rt_threads_forked(void)
{
	rt_tls.thread = NULL;
	rt_tls.starting = 0;
	rt_store(&look_next, 0);
	/* The states stay with hooks that a handler interrupted; the map had the parent's size. */
	threads = NULL;
}
