/* SPDX-License-Identifier: MIT */
/*
 * A thread's private state, one per cache of the ledger and reused with it. There is no thread
 * destructor: a starting thread looks for a cache whose owner is gone and goes on with it.
 */
#ifndef SEEP_RUNTIME_THREAD_H
#define SEEP_RUNTIME_THREAD_H

#include "runtime/rt.h"
#include "runtime/track/operation.h"
#include "runtime/unwind/verify.h"
#include "runtime/unwind/walk.h"

struct rt_thread {
	/* One cache line: what most operations read. */
	_Atomic uint64_t busy; /* frame address of the hook in its bookkeeping, else 0 */
	struct ledger_cache *cache;
	struct ledger_slot *slots;
	uintptr_t last_block; /* allocated last: freed next, it was a temporary */
	struct rt_tier *tier; /* once it was below "exact": track/tier.h */
	/* Mode and epoch of the control line where its quick ways may be taken; else UINT64_MAX. */
	_Atomic uint64_t tier_quick;
	int64_t tier_left; /* until an allocation is taken, in units of rt_tier_steps */
	uint32_t slot_mask;
	bool frees_quickly; /* frees of glibc's blocks need nothing but quick.h */
	bool is_tiered;	    /* the tier is below "exact" */
	bool passes;	    /* it is "sampled" */

	uint32_t life;		/* rt_global.life when it began; another: it is void */
	_Atomic uint32_t owner; /* kernel thread id, of a thread that may have ended meanwhile */
	uint32_t cache_index;
	uint32_t conflicts;	   /* since the slots last grew */
	_Atomic uint64_t slots_at; /* as ledger_cache.slots */
	/*
	 * The row of the walk that was kept last, and where it is counted. Most often the next
	 * allocation's are the same.
	 */
	struct rt_last_row {
		/*
		 * rt_quick_key() of the allocation that may be counted at once; UINT64_MAX: none.
		 * Another thread, too, may make it none.
		 */
		_Atomic uint64_t quick;
		uint64_t mode_and_epoch;
		struct ledger_slot *slot;
		uint32_t row;
		/*
		 * No more of that, but there is no other room: the low half of the frame address of
		 * the entry (hook/entry.c) whose function it is in; 0, or of one that it has left.
		 */
		uint32_t entered;
	} last_row;
	/* Of the flush that goes on, or was left: what ledger_redo says, but for figures. */
	struct {
		_Atomic uint32_t active;
		_Atomic uint32_t row;
		struct ledger_slot *slot;
		uint64_t turn_after;
	} flush;
	/* What its contexts are told apart by beside stacks, where it stands in their keys. */
	uint64_t tag;
	_Atomic uint32_t
		name_generation; /* of the name in it; with by_thread, 0: to be asked for */
	/* Of the innermost scope (scope.h); NULL, 0: none is open. */
	uint16_t open_tag;
	struct ledger_entries *entries;
	struct rt_scopes *scopes;
	/* How far out a handler has jumped by longjmp() that interrupted bookkeeping; 0: none has. */
	_Atomic uintptr_t jumped_to;
	struct rt_walk walk;
	struct rt_peek peek;	/* the present one: a stack may be tiny */
	struct rt_proof *proof; /* with verify only */
};

_Static_assert(offsetof(struct rt_thread, life) == 64, "one cache line");

/* For glibc's blocks it is the key itself: a small constant in the hooks. */
RT_INLINE uint64_t rt_quick_key(enum rt_quick quick, struct rt_key key)
{
	return key.word | (uint64_t)(quick ^ RT_QUICK_GLIBC) << 62;
}

/* Mode and epoch in one load. */
RT_INLINE uint64_t rt_mode_and_epoch(const struct ledger_control *control)
{
	typedef uint64_t __attribute__((may_alias)) both;

	return __atomic_load_n((const both *)&control->mode, __ATOMIC_RELAXED);
}

_Static_assert(offsetof(struct ledger_control, epoch) ==
			       offsetof(struct ledger_control, mode) + sizeof(uint32_t) &&
		       offsetof(struct ledger_control, mode) % sizeof(uint64_t) == 0,
	       "mode and epoch are one word");

/*
 * Give this thread its state. NULL when there is none to be had (nested in itself by a signal, no
 * cache or memory left, no ledger yet): the caller then counts without a stack.
 */
RT_COLD struct rt_thread *rt_thread_start(void);

/* Not that of a ledger which this process has left. */
RT_INLINE bool rt_thread_is_present(const struct rt_thread *thread)
{
	return RT_LIKELY(thread->life == rt_load(&rt_global.life));
}

RT_INLINE struct rt_thread *rt_thread_self(void)
{
	struct rt_thread *thread = rt_tls.thread;

	return RT_LIKELY(thread != NULL) && rt_thread_is_present(thread) ? thread
									 : rt_thread_start();
}

/*
 * The busy word is set. False: the hook that set it still runs. True: it was left by longjmp, and
 * what it left half done is mended.
 */
RT_COLD bool rt_enter_again(struct rt_thread *thread, uintptr_t frame);

/* The end of bookkeeping. */
RT_INLINE void rt_leave(struct rt_thread *thread)
{
	atomic_signal_fence(memory_order_seq_cst);
	rt_store(&thread->busy, 0);
}

/*
 * Begin bookkeeping in a hook with frame address @frame. Returns the control line. NULL: this thread
 * is in its bookkeeping further out, because a signal handler interrupted it or the next allocator
 * answers a question of ours; or this is a child that a handler forked after the hook began. Then
 * only what needs no slot is allowed (counters.h), and rt_leave is not called.
 */
RT_INLINE struct ledger_control *rt_enter(struct rt_thread *thread, const void *frame)
{
	struct ledger_control *control;

	if (RT_UNLIKELY(rt_load(&thread->busy) != 0) && !rt_enter_again(thread, (uintptr_t)frame))
		return NULL;
	rt_store(&thread->busy, (uintptr_t)frame);
	atomic_signal_fence(memory_order_seq_cst);
	/* Whose ledger, only now: from here on a fork in a handler knows that we are here. */
	control = rt_mine.control;
	/* In this order: who joins again advances the life first. */
	atomic_signal_fence(memory_order_acquire);
	if (RT_LIKELY(control != NULL) && RT_LIKELY(rt_tls.thread == thread) &&
	    rt_thread_is_present(thread))
		return control;
	rt_leave(thread);
	return NULL;
}

/* The word that says whether this thread is in its bookkeeping: a forked child has it as it was. */
static inline _Atomic uint64_t *rt_busy_word(void)
{
	return rt_tls.thread ? &rt_tls.thread->busy : &rt_tls.busy;
}

/* After a change of tier or scope. */
void rt_thread_set_frees(struct rt_thread *thread);

/* The next allocation looks for its row. */
static inline void rt_last_row_void(struct rt_thread *thread)
{
	rt_store(&thread->last_row.quick, UINT64_MAX);
}

/* Advanced whenever a thread has named another one. 0: contexts are not told apart by thread. */
extern RT_HIDDEN _Atomic uint32_t rt_names_generation;

/* What was just set was found by a name that counts no more, or may be: who names it may have come before. */
static inline void rt_last_row_check(struct rt_thread *thread)
{
	if (RT_LIKELY(!rt_load(&rt_names_generation)))
		return;
	atomic_thread_fence(memory_order_seq_cst);
	if (rt_load(&rt_names_generation) != rt_load(&thread->name_generation))
		rt_last_row_void(thread);
}

/* Not for the next allocation that would be counted at once, until that is resumed. */
#define RT_QUICK_PAUSED (UINT64_C(1) << 60)

static inline void rt_last_row_pause(struct rt_thread *thread)
{
	rt_store(&thread->last_row.quick, rt_load(&thread->last_row.quick) | RT_QUICK_PAUSED);
}

static inline void rt_last_row_resume(struct rt_thread *thread)
{
	const uint64_t quick = rt_load(&thread->last_row.quick);

	if (quick != UINT64_MAX)
		rt_store(&thread->last_row.quick, quick & ~RT_QUICK_PAUSED);
	rt_last_row_check(thread);
}

/* Does @mode of the control line take nothing of what this thread allocates now? */
RT_INLINE bool rt_mode_is_idle(uint32_t mode)
{
	mode &= LEDGER_MODE_MASK;
	return RT_UNLIKELY(mode != LEDGER_MODE_ALL) &&
	       (mode != LEDGER_MODE_SCOPED || !rt_tls.thread || !rt_tls.thread->entries);
}

/* Once, before the first thread has a state: where they are to be found. False: no memory. */
bool rt_threads_start(void);

/* The next allocation of each thread looks for its row. After rt_names_generation has advanced. */
void rt_threads_void_rows(void);

/* In a forked child: no thread has a cache yet. */
void rt_threads_forked(void);

/*
 * The control line is gone: whoever enters from now on leaves at once. Returns whether nobody is in
 * bookkeeping any more. It waits a little for who is.
 */
bool rt_threads_are_out(void);

/* The same before another ledger: states begin anew with it. After all are out. */
void rt_threads_again(void);

#endif
