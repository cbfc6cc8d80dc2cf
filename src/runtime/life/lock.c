/* SPDX-License-Identifier: MIT */
#include "runtime/life/lock.h"

#include "runtime/life/sys.h"

#include <errno.h>

enum { SPINS = 200, WAIT_MS = 10, WAITS = 20 };

static _Atomic uint32_t owner;

static bool try_take(uint32_t from, uint32_t tid)
{
	return atomic_compare_exchange_strong_explicit(&owner, &from, tid, memory_order_acquire,
						       memory_order_relaxed);
}

static bool is_gone(uint32_t tid)
{
	return tid && rt_syscall3(SYS_tgkill, rt_global.pid, tid, 0) == -ESRCH;
}

bool rt_lock_slow(uint32_t tid)
{
	/* Interrupted by a handler while it was ours: waiting would be for ourselves. */
	if (rt_load(&owner) == tid)
		return false;
	for (unsigned i = 0; i < SPINS; i++) {
		if (try_take(0, tid))
			return true;
		__builtin_ia32_pause();
	}
	for (unsigned i = 0; i < WAITS; i++) {
		uint32_t seen = rt_load(&owner);

		if (seen && is_gone(seen) && try_take(seen, tid))
			return true;
		if (seen)
			(void)rt_futex_wait(&owner, seen, WAIT_MS);
		if (try_take(0, tid))
			return true;
	}
	return false;
}

void rt_unlock_slow(uint32_t tid)
{
	uint32_t mine = tid;

	/*
	 * Waiters sleep at most WAIT_MS, so waking them matters for speed only; the futex call is
	 * cheap beside what was just done under the lock.
	 */
	if (atomic_compare_exchange_strong_explicit(&owner, &mine, 0, memory_order_release,
						    memory_order_relaxed) &&
	    rt_load(&rt_global.control->caches) > 1)
		rt_futex_wake(&owner);
}

void rt_lock_recover(uint32_t tid)
{
	if (rt_load(&owner) == tid)
		rt_unlock_slow(tid);
}

void rt_lock_forked(void)
{
	rt_store(&owner, 0);
}
