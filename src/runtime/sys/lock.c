/* SPDX-License-Identifier: MIT */
#include "runtime/sys/lock.h"

#include "runtime/sys/sys.h"

#include <errno.h>

enum { SPINS = 200, WAIT_MS = 10, WAITS = 20 };

/* In the owner's word beside the thread id: somebody sleeps, or did. */
#define SLEEPERS (1u << 31)
#define LONGEST_NS 5000000000ull

/* Each on a line of its own: what every hook reads may lie beside them. */
static _Alignas(64) _Atomic uint32_t owner;
static _Alignas(64) _Atomic uint32_t
	tenures; /* counts owners, so that waiters see that it is not one for ever */

/*
 * Somebody was woken and has not run yet: no need to wake another at every release meanwhile. A
 * thousand threads that all wake each other do nothing else. Cleared by whoever comes out of a
 * wait, so it cannot stay for longer than one.
 */
static _Alignas(64) _Atomic uint32_t waking;

static bool try_take(uint32_t from, uint32_t word)
{
	if (!atomic_compare_exchange_strong_explicit(&owner, &from, word, memory_order_acquire,
						     memory_order_relaxed))
		return false;
	rt_store(&tenures, rt_load(&tenures) + 1);
	return true;
}

/* Say that somebody sleeps, and sleep. True: one owner kept it during the whole wait. */
static bool sleep_once(uint32_t seen)
{
	const uint32_t before = rt_load(&tenures);
	uint32_t word = seen;
	long ret;

	if (!(seen & SLEEPERS) &&
	    !atomic_compare_exchange_strong_explicit(&owner, &word, seen | SLEEPERS,
						     memory_order_relaxed, memory_order_relaxed))
		return false;
	ret = rt_futex_wait(&owner, seen | SLEEPERS, WAIT_MS);
	rt_store(&waking, 0);
	return ret == -ETIMEDOUT && rt_load(&tenures) == before;
}

/* Others may sleep too, so whoever slept takes it with the mark. */
static bool take_asleep(uint32_t tid)
{
	const uint64_t until = rt_now_ns() + LONGEST_NS;

	for (unsigned waits = 0; waits < WAITS && rt_now_ns() < until;) {
		uint32_t seen = rt_load(&owner);

		if (!(seen & ~SLEEPERS)) {
			if (try_take(seen, tid | SLEEPERS))
				return true;
			continue;
		}
		if (!sleep_once(seen)) {
			waits = 0;
			continue;
		}
		seen = rt_load(&owner);
		if ((seen & ~SLEEPERS) && rt_is_gone(rt_global.pid, seen & ~SLEEPERS) &&
		    try_take(seen, tid | SLEEPERS))
			return true;
		waits++;
	}
	return false;
}

bool rt_lock_slow(uint32_t tid)
{
	/* Interrupted by a handler while it was ours: waiting would be for ourselves. */
	if ((rt_load(&owner) & ~SLEEPERS) == tid)
		return false;
	for (unsigned i = 0; i < SPINS; i++) {
		if (try_take(0, tid))
			return true;
		__builtin_ia32_pause();
	}
	return take_asleep(tid);
}

void rt_unlock_slow(uint32_t tid)
{
	if ((rt_load(&owner) & ~SLEEPERS) != tid)
		return;
	if (!(atomic_exchange_explicit(&owner, 0, memory_order_release) & SLEEPERS))
		return;
	/* Others that sleep have marked the word, or will when they run again. */
	if (!atomic_exchange_explicit(&waking, 1, memory_order_relaxed) &&
	    rt_futex_wake_one(&owner) <= 0)
		rt_store(&waking, 0);
}

void rt_lock_recover(uint32_t tid)
{
	rt_unlock_slow(tid);
}

void rt_lock_forked(void)
{
	rt_store(&owner, 0);
	rt_store(&waking, 0);
}
