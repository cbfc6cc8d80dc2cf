/* SPDX-License-Identifier: MIT */
#include "runtime/track/thread.h"

#include "runtime/sys/lock.h"
#include "runtime/sys/sys.h"
#include "runtime/sys/tables.h"
#include "runtime/track/counters.h"
#include "runtime/track/live_peak.h"
#include "runtime/track/flush.h"
#include "runtime/unwind/memory.h"

enum {
	LOOK_AT = 16,	   /* caches looked at before a new one is handed out, */
	LOOK_LESS_MAX = 3, /* at 2 of them where none was found three times in a row */
	SLOTS_LOG2_FIRST = 6,
	SLOTS_LOG2_MANY_THREADS = 4,
};

static _Atomic uint32_t look_next;
/* How often the last looks were in vain: threads that only start need not ask 16 times each. */
static _Atomic uint32_t looks_in_vain;

/* All that most threads have for themselves: one page. */
struct state {
	struct rt_thread thread;
	_Alignas(64) char room[RT_WALK_ROOM_BYTES];
};
_Static_assert(sizeof(struct state) <= LEDGER_PAGE_BYTES, "in one page");

/* Private states by cache index; kept for ever, reused by whoever adopts the cache. */
static struct rt_thread *_Atomic *_Atomic threads;
static uint64_t threads_room;	     /* for so many */
static _Atomic uint32_t threads_end; /* behind the last that was ever there */

static bool threads_map(void)
{
	uint64_t capacity = rt_global.header->table[LEDGER_TABLE_CACHES].capacity;
	struct rt_thread *_Atomic *expected = NULL;
	struct rt_thread *_Atomic *map;

	if (rt_load_acquire(&threads))
		return true;
	threads_room = capacity;
	map = rt_mmap_sparse(capacity * sizeof(*map));
	if (!map)
		return false;
	if (!atomic_compare_exchange_strong_explicit(&threads, &expected, map, memory_order_acq_rel,
						     memory_order_acquire))
		rt_munmap_sparse(map, capacity * sizeof(*map));
	return true;
}

/* The private state of cache @index, NULL if there was none yet; threads_map() has succeeded. */
static struct rt_thread *state_of(uint32_t index)
{
	return rt_load_acquire(&rt_load_acquire(&threads)[index]);
}

/* Take over cache @index if its owner is gone, or had the thread id that is now ours. */
static bool adopt(uint32_t index, uint32_t tid)
{
	struct ledger_cache *cache = &rt_global.caches[index];
	uint32_t owner = rt_load(&cache->owner_tid);

	if (!rt_load_acquire(&cache->ready) || !owner)
		return false;
	if (owner != tid && !rt_is_gone(rt_global.pid, owner))
		return false;
	if (!atomic_compare_exchange_strong_explicit(&cache->owner_tid, &owner, tid,
						     memory_order_acq_rel, memory_order_relaxed))
		return false;
	rt_redo(cache, index);
	return true;
}

static bool cache_new(uint32_t tid, uint32_t *ret_index)
{
	uint64_t index = rt_table_take(LEDGER_TABLE_CACHES, 1);
	unsigned log2 = rt_threads_are_few() ? SLOTS_LOG2_FIRST : SLOTS_LOG2_MANY_THREADS;
	struct ledger_cache *cache;
	uint64_t slots;
	uint32_t count;

	if (index == RT_NO_INDEX)
		return false;
	slots = rt_table_take(LEDGER_TABLE_SLOTS, 1u << log2);
	if (slots == RT_NO_INDEX)
		return false;
	cache = &rt_global.caches[index];
	rt_store(&cache->owner_tid, tid);
	rt_store(&cache->slots, slots << 8 | log2);
	rt_store_release(&cache->ready, 1);
	count = rt_load(&rt_global.control->caches);
	/* Not by one: a start that was left may have taken an index and gone no further. */
	while (count <= index && !atomic_compare_exchange_weak_explicit(
					 &rt_global.control->caches, &count, (uint32_t)index + 1,
					 memory_order_relaxed, memory_order_relaxed))
		;
	rt_threshold_update();
	*ret_index = (uint32_t)index;
	return true;
}

/* @again: a start was left; its cache would stay with this thread, and a flush in it half done. */
static bool cache_get(uint32_t tid, bool again, uint32_t *ret_index)
{
	uint32_t count = rt_load(&rt_global.control->caches);
	uint32_t vain = rt_load(&looks_in_vain);
	uint32_t looks = again || count <= LOOK_AT ? count : (uint32_t)LOOK_AT >> vain;

	for (uint32_t i = 0; i < looks; i++) {
		uint32_t index = i;

		/* All of them, whatever other threads are looking at; or the next few. */
		if (!again)
			index = atomic_fetch_add_explicit(&look_next, 1, memory_order_relaxed) %
				count;
		if (adopt(index, tid)) {
			rt_store(&looks_in_vain, 0);
			*ret_index = index;
			return true;
		}
	}
	if (vain < LOOK_LESS_MAX)
		rt_store(&looks_in_vain, vain + 1);
	if (cache_new(tid, ret_index))
		return true;
	for (uint32_t index = 0; index < count; index++)
		if (adopt(index, tid)) {
			*ret_index = index;
			return true;
		}
	return false;
}

static void note_end(uint32_t end)
{
	uint32_t before = rt_load(&threads_end);

	while (before < end &&
	       !atomic_compare_exchange_weak_explicit(&threads_end, &before, end,
						      memory_order_relaxed, memory_order_relaxed))
		;
}

static struct rt_thread *thread_make(uint32_t index)
{
	struct ledger_cache *cache = &rt_global.caches[index];
	struct rt_thread *thread = state_of(index);

	if (!thread) {
		struct state *state = rt_mmap(LEDGER_PAGE_BYTES);

		if (!state)
			return NULL;
		thread = &state->thread;
		rt_store_release(&threads[index], thread);
		note_end(index + 1);
	}
	/* Of the thread that had this state before. */
	rt_store(&thread->busy, 0);
	if (!rt_walk_start(&thread->walk, ((struct state *)thread)->room))
		return NULL;
	thread->cache = cache;
	rt_slots_find(thread);
	rt_store(&cache->resizing, 0);
	thread->last_block = 0;
	thread->walk.full_walks = &cache->walks_full;
	thread->last_row = RT_LAST_ROW_NONE;
	thread->proof.started = false;
	rt_store(&thread->name_generation, 0);
	thread->cache_index = index;
	return thread;
}

/* What xrstor reads (Intel's manual, volume 1, chapter 13). */
struct xsave_area {
	uint8_t x87[24];
	uint32_t mxcsr;
	uint8_t unused[484];
	uint64_t header[8]; /* of components that are kept: none, all are as at the start */
};

static bool may_restore_state(void)
{
	enum { UNKNOWN, NO, YES, OSXSAVE = 1 << 27 };
	static _Atomic int answer;
	uint32_t eax = 1, ebx, ecx = 0, edx;
	int known = rt_load(&answer);

	if (known == UNKNOWN) {
		__asm__ volatile("cpuid" : "+a"(eax), "=b"(ebx), "+c"(ecx), "=d"(edx));
		known = ecx & OSXSAVE ? YES : NO;
		rt_store(&answer, known);
	}
	return known == YES;
}

/*
 * A thread begins with the vector registers of the one that started it, and what it never uses
 * stays there: an address would keep a block reachable as long as the thread lives. Who calls a
 * hook expects them to change.
 */
static void clear_vectors(void)
{
	enum { SSE = 1 << 1, AVX = 1 << 2, AVX512 = 7 << 5, MXCSR_AT_START = 0x1f80 };
	static const _Alignas(64) struct xsave_area start = { .mxcsr = MXCSR_AT_START };
	uint32_t mxcsr;

	if (!may_restore_state())
		return;
	__asm__ volatile("stmxcsr %0" : "=m"(mxcsr));
	__asm__ volatile("xrstor %0" : : "m"(start), "a"(SSE | AVX | AVX512), "d"(0));
	__asm__ volatile("ldmxcsr %0" : : "m"(mxcsr));
}

struct rt_thread *rt_thread_start(void)
{
	/* No ledger (yet): forked in a handler that interrupted a hook as it began. */
	return rt_mine.control ? rt_thread_make() : NULL;
}

struct rt_thread *rt_thread_make(void)
{
	const void *frame = __builtin_frame_address(0);
	uint64_t before = rt_load(&rt_tls.busy);
	struct rt_thread *thread = NULL;
	uint32_t tid;
	uint32_t index;

	if (rt_tls.alone || (before && rt_walk_is_inside(frame, before)))
		return NULL;
	rt_store(&rt_tls.busy, (uintptr_t)frame);
	atomic_signal_fence(memory_order_seq_cst);
	clear_vectors();
	tid = rt_tls.tid = rt_gettid();
	rt_lock_recover(tid);
	if (threads_map() && cache_get(tid, before != 0, &index)) {
		thread = thread_make(index);
		rt_add(&rt_global.state->threads_started, 1);
	}
	if (!thread)
		rt_note_unseen(LEDGER_UNSEEN_CACHES_FULL);
	/* The next allocation would find none either. */
	rt_tls.alone = !thread;
	atomic_signal_fence(memory_order_seq_cst);
	rt_tls.thread = thread;
	rt_store(&rt_tls.busy, 0);
	return thread;
}

/* The busy frame either goes on after us, or was left by longjmp. */
bool rt_enter_again(struct rt_thread *thread, uintptr_t frame)
{
	if (rt_walk_is_inside((const uintptr_t *)frame, rt_load(&thread->busy)))
		return false;
	/* From here on a handler has interrupted this: it must not do the same in the middle. */
	rt_store(&thread->busy, frame);
	atomic_signal_fence(memory_order_seq_cst);
	rt_redo(thread->cache, thread->cache_index);
	rt_slots_find(thread);
	rt_lock_recover(rt_tls.tid);
	rt_walk_reset(&thread->walk);
	/* Of verify; made again when it is needed. */
	thread->proof.started = false;
	thread->last_row = RT_LAST_ROW_NONE;
	rt_add_own(&thread->cache->abandoned, 1);
	return true;
}

void rt_threads_each(void (*each)(struct rt_thread *thread))
{
	uint32_t count = rt_mine.control ? rt_load(&rt_mine.control->caches) : 0;

	for (uint32_t i = 0; i < count && rt_load_acquire(&threads); i++) {
		struct rt_thread *thread = state_of(i);

		if (thread)
			each(thread);
	}
}

void rt_threads_forked(void)
{
	rt_tls = (struct rt_tls){ .ignoring = rt_tls.ignoring };
	rt_store(&look_next, 0);
	rt_store(&looks_in_vain, 0);
	/* The states stay with hooks that a handler interrupted. */
	if (threads_room == rt_global.header->table[LEDGER_TABLE_CACHES].capacity)
		for (uint32_t i = 0; i < rt_load(&threads_end); i++)
			rt_store(&threads[i], NULL);
	else
		rt_store_release(&threads, NULL);
	rt_store(&threads_end, 0);
}
