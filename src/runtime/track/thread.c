/* SPDX-License-Identifier: MIT */
#include "runtime/track/thread.h"

#include "runtime/sys/sys.h"
#include "runtime/sys/tables.h"
#include "runtime/track/counters.h"
#include "runtime/track/live_peak.h"
#include "runtime/track/flush.h"
#include "runtime/track/scope.h"
#include "runtime/track/tier.h"
#include "runtime/unwind/remembered.h"

#include <linux/membarrier.h>

enum {
	LOOK_AT = 16,	   /* caches looked at before a new one is handed out, */
	LOOK_LESS_MAX = 3, /* at 2 of them where none was found three times in a row */
	SLOTS_LOG2_FIRST = 6,
	SLOTS_LOG2_MANY_THREADS = 4,
	OUT_TRIES = 200,
	OUT_PAUSE_US = 50,
};

_Atomic uint32_t rt_names_generation;

/* Threads that get their state now: they are in bookkeeping, and have no busy word that others see. */
static _Atomic uint32_t starting;
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
static struct rt_thread *_Atomic *threads;
static uint64_t threads_room; /* for so many */

bool rt_threads_start(void)
{
	if (threads)
		return true;
	threads_room = rt_header.table[LEDGER_TABLE_CACHES].capacity;
	threads = rt_mmap_sparse(threads_room * sizeof(*threads));
	if (!threads)
		rt_note_unseen(LEDGER_UNSEEN_NO_MEMORY);
	return threads != NULL;
}

/* Take over cache @index if its owner is gone, or had the thread id that is now ours. */
static struct rt_thread *adopt(uint32_t index, uint32_t tid)
{
	struct rt_thread *thread = rt_load_acquire(&threads[index]);
	uint32_t owner = thread ? rt_load(&thread->owner) : 0;

	if (!owner || (owner != tid && !rt_is_gone(rt_header.pid, owner)))
		return NULL;
	if (!atomic_compare_exchange_strong_explicit(&thread->owner, &owner, tid,
						     memory_order_acq_rel, memory_order_relaxed))
		return NULL;
	rt_store(&thread->cache->owner_tid, tid);
	rt_redo(thread);
	return thread;
}

/* @state: the thread's own, of a ledger that was left; or NULL. */
static struct rt_thread *cache_new(uint32_t tid, struct rt_thread *state)
{
	uint64_t index = rt_table_take(LEDGER_TABLE_CACHES, 1);
	unsigned log2 = rt_threads_are_few() ? SLOTS_LOG2_FIRST : SLOTS_LOG2_MANY_THREADS;
	struct rt_thread *thread;
	uint64_t slots;

	/* A forked child's table may be a little larger than its parent's. */
	if (index == RT_NO_INDEX || index >= threads_room)
		return NULL;
	slots = rt_table_take(LEDGER_TABLE_SLOTS, 1u << log2);
	thread = state;
	if (!thread && slots != RT_NO_INDEX)
		thread = rt_mmap(LEDGER_PAGE_BYTES);
	if (!thread || slots == RT_NO_INDEX)
		return NULL;
	thread->cache = &rt_global.caches[index];
	thread->cache_index = (uint32_t)index;
	rt_store(&thread->owner, tid);
	rt_store(&thread->slots_at, slots << 8 | log2);
	rt_store(&thread->cache->owner_tid, tid);
	rt_store(&thread->cache->slots, slots << 8 | log2);
	rt_store_release(&thread->cache->ready, 1);
	/*
	 * Not by one: a start that was left may have taken an index and gone no further. Before the
	 * state is there: a child that is forked here forgets the states of so many.
	 */
	rt_raise(&rt_threads, (uint32_t)index + 1);
	rt_store_release(&threads[index], thread);
	rt_raise(&rt_global.control->caches, (uint32_t)index + 1);
	rt_threshold_update();
	return thread;
}

/* @again: a start was left; its cache would stay with this thread, and a flush in it half done. */
static struct rt_thread *cache_get(uint32_t tid, bool again, struct rt_thread *state)
{
	uint32_t count = rt_load(&rt_threads);
	uint32_t vain = rt_load(&looks_in_vain);
	uint32_t looks = again || count <= LOOK_AT ? count : (uint32_t)LOOK_AT >> vain;
	struct rt_thread *thread = NULL;

	for (uint32_t i = 0; i < looks; i++) {
		uint32_t index = i;

		/* All of them, whatever other threads are looking at; or the next few. */
		if (!again)
			index = atomic_fetch_add_explicit(&look_next, 1, memory_order_relaxed) %
				count;
		thread = adopt(index, tid);
		if (thread) {
			rt_store(&looks_in_vain, 0);
			return thread;
		}
	}
	if (vain < LOOK_LESS_MAX)
		rt_store(&looks_in_vain, vain + 1);
	thread = cache_new(tid, state);
	for (uint32_t index = 0; !thread && index < count; index++)
		thread = adopt(index, tid);
	return thread;
}

void rt_thread_set_frees(struct rt_thread *thread)
{
	thread->frees_quickly = !thread->entries && rt_load(&rt_global.quick) == RT_QUICK_GLIBC &&
				!thread->passes;
}

/* As if it had been no other thread's before. */
static void begin(struct rt_thread *thread)
{
	rt_store(&thread->busy, 0);
	thread->life = rt_load(&rt_global.life);
	rt_walk_start(&thread->walk, ((struct state *)thread)->room);
	rt_slots_find(thread);
	rt_store(&thread->cache->resizing, 0);
	thread->last_block = 0;
	rt_last_row_void(thread);
	rt_tier_void(thread);
	if (thread->proof)
		thread->proof->started = false;
	rt_store(&thread->name_generation, 0);
	rt_scopes_begin(thread);
}

struct rt_thread *rt_thread_start(void)
{
	const void *frame = __builtin_frame_address(0);
	uint64_t before = rt_load(&rt_tls.busy);
	struct rt_thread *thread, *left = rt_tls.thread;
	uint32_t tid;

	/* No ledger (yet): forked in a handler that interrupted a hook as it began. */
	if (!rt_mine.control || rt_tls.alone || (before && rt_walk_is_inside(frame, before)))
		return NULL;
	rt_store(&rt_tls.busy, (uintptr_t)frame);
	(void)atomic_fetch_add_explicit(&starting, 1, memory_order_seq_cst);
	/* The process has been left since. */
	if (!rt_mine.control) {
		rt_store(&rt_tls.busy, 0);
		(void)atomic_fetch_sub_explicit(&starting, 1, memory_order_release);
		return NULL;
	}
	if (left)
		rt_scopes_left(left);
	rt_tls.thread = NULL;
	tid = rt_tls.tid = rt_gettid();
	thread = cache_get(tid, before != 0, left);
	if (thread) {
		begin(thread);
		rt_add(&rt_global.state->threads_started, 1);
	} else {
		rt_note_unseen(LEDGER_UNSEEN_CACHES_FULL);
	}
	/* The next allocation would find none either. */
	rt_tls.alone = !thread;
	atomic_signal_fence(memory_order_seq_cst);
	rt_tls.thread = thread;
	rt_store(&rt_tls.busy, 0);
	(void)atomic_fetch_sub_explicit(&starting, 1, memory_order_release);
	/* The thread that made the ledger does so too, but may be stopped until all are killed. */
	rt_early_settle();
	return rt_tls.thread;
}

/* The busy frame either goes on after us, or was left by longjmp. */
bool rt_enter_again(struct rt_thread *thread, uintptr_t frame)
{
	if (!rt_tls.thread || rt_walk_is_inside((const uintptr_t *)frame, rt_load(&thread->busy)))
		return false;
	/* From here on a handler has interrupted this: it must not do the same in the middle. */
	rt_store(&thread->busy, frame);
	atomic_signal_fence(memory_order_seq_cst);
	rt_redo(thread);
	rt_slots_find(thread);
	rt_walk_reset(&thread->walk);
	/* Of verify; made again when it is needed. */
	if (thread->proof)
		thread->proof->started = false;
	rt_last_row_void(thread);
	rt_scopes_mend(thread, frame);
	rt_bump(&thread->cache->abandoned, 1);
	return true;
}

void rt_threads_void_rows(void)
{
	for (uint32_t i = 0; i < rt_load(&rt_threads); i++) {
		struct rt_thread *thread = rt_load_acquire(&threads[i]);

		if (thread)
			atomic_store_explicit(&thread->last_row.quick, UINT64_MAX,
					      memory_order_seq_cst);
	}
}

/* Their words were written before they looked for the control line. */
static void await_stores(void)
{
	if (rt_syscall3(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) == 0)
		return;
	(void)rt_syscall3(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0);
	(void)rt_syscall3(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0);
}

static bool is_out(const struct rt_thread *thread)
{
	return !rt_load(&thread->busy) || rt_is_gone(rt_header.pid, rt_load(&thread->owner));
}

/*
 * Not by nanosleep(), which makes the kernel forget how to go on with the poll() or nanosleep() in which
 * this thread was found when it was led here.
 */
static void pause_shortly(void)
{
	static uint32_t nobody_wakes;

	(void)rt_futex_wait(&nobody_wakes, 0, OUT_PAUSE_US);
}

bool rt_threads_are_out(void)
{
	unsigned tries = 0;

	await_stores();
	while (rt_load_acquire(&starting)) {
		if (tries++ == OUT_TRIES)
			return false;
		pause_shortly();
	}
	for (uint32_t i = 0; i < rt_load(&rt_threads); i++) {
		const struct rt_thread *thread = rt_load_acquire(&threads[i]);

		while (thread && !is_out(thread)) {
			if (tries++ == OUT_TRIES)
				return false;
			pause_shortly();
		}
	}
	return true;
}

static void forget_states(void)
{
	rt_store(&look_next, 0);
	rt_store(&looks_in_vain, 0);
	/* The states stay with their threads, and with hooks that a handler interrupted. */
	for (uint32_t i = 0; i < rt_load(&rt_threads); i++)
		rt_store(&threads[i], NULL);
	rt_store(&rt_threads, 0);
}

/* Who is just about to enter with such a state finds nothing to repeat, and no quick way. */
void rt_threads_again(void)
{
	for (uint32_t i = 0; i < rt_load(&rt_threads); i++) {
		struct rt_thread *thread = rt_load_acquire(&threads[i]);

		if (!thread)
			continue;
		rt_last_row_void(thread);
		rt_tier_void(thread);
		thread->walk.leaf = 0;
		thread->frees_quickly = false;
	}
	forget_states();
}

void rt_threads_forked(void)
{
	rt_store(&starting, 0);
	rt_tls = (struct rt_tls){ .ignoring = rt_tls.ignoring,
				  .unrecorded = rt_tls.unrecorded,
				  .scopes = rt_tls.scopes };
	forget_states();
}
