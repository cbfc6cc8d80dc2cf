/* SPDX-License-Identifier: MIT */
#include "runtime/life/phase.h"

#include "runtime/sys/sys.h"
#include "runtime/unwind/walk.h"

#include <signal.h>

enum { PATIENCE_MS = 2 };

static _Atomic uint32_t phase;
/* Of RT_STARTING: who makes the ledger, and where. */
static _Atomic uint32_t maker_tid, maker_pid;
static uintptr_t maker_frame;
/* How long others still wait for it, all together: its file system may be slow. */
static _Atomic int32_t patience_ms;

enum rt_phase rt_phase_now(void)
{
	return (enum rt_phase)rt_load_acquire(&phase);
}

bool rt_phase_is_others(void)
{
	return rt_phase_now() == RT_STARTING && rt_load(&maker_tid) != rt_gettid();
}

/*
 * Left in the middle, by a fault's handler with longjmp or by the end of its thread; or this process
 * was forked away from it.
 */
static bool is_abandoned(void)
{
	const uint32_t pid = rt_getpid_or_tid(), maker = rt_load(&maker_tid);

	if (!maker)
		return false;
	if (rt_load(&maker_pid) != pid)
		return true;
	if (maker == rt_gettid())
		return !rt_walk_is_inside(__builtin_frame_address(0), maker_frame);
	return rt_is_gone(pid, maker);
}

bool rt_phase_end(enum rt_phase from)
{
	uint32_t seen = from;

	return atomic_compare_exchange_strong_explicit(&phase, &seen, RT_OFF, memory_order_release,
						       memory_order_relaxed);
}

void rt_phase_wait(void)
{
	while (rt_phase_now() == RT_STARTING) {
		if (is_abandoned())
			(void)rt_phase_end(RT_STARTING);
		else if (rt_load(&maker_tid) == rt_gettid() ||
			 atomic_fetch_sub_explicit(&patience_ms, 1, memory_order_relaxed) <= 0)
			return;
		else
			(void)rt_futex_wait(&phase, RT_STARTING, 1000);
	}
}

static void make_it(bool (*make)(const void *how), const void *how)
{
	bool made;

	maker_frame = (uintptr_t)__builtin_frame_address(0);
	rt_store(&maker_pid, rt_getpid_or_tid());
	rt_store_release(&maker_tid, rt_gettid());
	made = make(how);
	rt_store(&maker_tid, 0);
	rt_store_release(&phase, made ? RT_ON : RT_OFF);
	rt_futex_wake(&phase);
}

/*
 * Handlers wait: one that leaves by longjmp, forks or calls exec in the middle would leave half a
 * ledger. Signals that a fault or a sandbox's trap gives at once would kill if they were held. One
 * bit for each signal, as the kernel has it.
 */
void rt_phase_pass(enum rt_phase from, bool (*make)(const void *how), const void *how)
{
#define AT_ONCE(signal) (1ull << ((signal)-1))
	const uint64_t held = ~(AT_ONCE(SIGSEGV) | AT_ONCE(SIGBUS) | AT_ONCE(SIGILL) |
				AT_ONCE(SIGFPE) | AT_ONCE(SIGTRAP) | AT_ONCE(SIGSYS));
#undef AT_ONCE
	uint64_t before = 0;
	bool is_held = rt_syscall6(SYS_rt_sigprocmask, SIG_BLOCK, (long)&held, (long)&before,
				   sizeof(held), 0, 0) == 0;
	uint32_t seen = from;

	if (rt_phase_now() == from)
		rt_store(&patience_ms, PATIENCE_MS);
	if (atomic_compare_exchange_strong_explicit(&phase, &seen, RT_STARTING,
						    memory_order_acquire, memory_order_relaxed))
		make_it(make, how);
	if (is_held)
		(void)rt_syscall6(SYS_rt_sigprocmask, SIG_SETMASK, (long)&before, 0, sizeof(before),
				  0, 0);
	rt_phase_wait();
}
