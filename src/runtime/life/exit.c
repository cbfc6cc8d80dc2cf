/* SPDX-License-Identifier: MIT */
#include "runtime/life/exit.h"

#include "runtime/sys/sys.h"

#include <errno.h>

enum { CHECK_MS = 100 };

static bool is_ours(void)
{
	return rt_mine.control && rt_getpid_or_tid() == rt_global.pid;
}

/*
 * A living recorder answers at once, so whether it lives is asked only when it has not: sandboxes
 * kill for system calls that a process of their kind does not make. They let getpgid() pass more
 * often than kill().
 */
static void wait_for_recorder(struct ledger_control *control)
{
	uint64_t until = rt_now_ns() + (uint64_t)rt_load(&control->exit_wait_ms) * 1000000;

	for (;;) {
		uint32_t recorder = rt_load_acquire(&control->recorder_pid);
		long waited;

		if (!recorder || rt_load_acquire(&control->exit_ack) || rt_now_ns() >= until)
			return;
		waited = rt_futex_wait(&control->exit_ack, 0, CHECK_MS);
		if (waited == -ETIMEDOUT && rt_syscall3(SYS_getpgid, recorder, 0, 0) == -ESRCH)
			return;
	}
}

void rt_exit_notice(enum ledger_ended ended, int status)
{
	struct ledger_state *state;

	if (!is_ours())
		return;
	state = rt_global.state;
	if (ended == LEDGER_ENDED_EXIT && status >= 0) {
		rt_store(&state->exit_status, (uint32_t)status & 0xff);
		rt_store(&state->exit_status_known, 1);
	}
	/* Of a death by signal nobody knows when it was; and its handler may leave abort(). */
	rt_store(&state->ended_ns, ended == LEDGER_ENDED_ABORT ? 0 : rt_now_ns());
	/* An answer may be there: to an abort or exit that was not the last. */
	(void)atomic_exchange_explicit(&rt_mine.control->exit_ack, 0, memory_order_seq_cst);
	rt_store_release(&state->ended, ended);
	(void)atomic_fetch_add_explicit(&state->attention, 1, memory_order_release);
	rt_futex_wake(&state->attention);
	wait_for_recorder(rt_mine.control);
}

void rt_exit_withdraw(void)
{
	uint32_t last = LEDGER_ENDED_EXEC;

	if (!is_ours() || !atomic_compare_exchange_strong_explicit(
				  &rt_global.state->ended, &last, LEDGER_ENDED_RUNNING,
				  memory_order_release, memory_order_relaxed))
		return;
	rt_store(&rt_global.state->ended_ns, 0);
	(void)atomic_fetch_add_explicit(&rt_global.state->attention, 1, memory_order_release);
	rt_futex_wake(&rt_global.state->attention);
}

/* exit() and a return from main. Other destructors may follow; they are still counted. */
static __attribute__((destructor)) void at_exit(void)
{
	rt_exit_notice(LEDGER_ENDED_EXIT, -1);
}
