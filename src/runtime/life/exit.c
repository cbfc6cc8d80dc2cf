/* SPDX-License-Identifier: MIT */
#include "runtime/life/exit.h"

#include "runtime/guard/guard.h"
#include "runtime/life/fork.h"
#include "runtime/life/make.h"
#include "runtime/life/rt_options.h"
#include "runtime/life/rt_scan_request.h"
#include "runtime/next/next.h"
#include "runtime/sys/rt_facts.h"
#include "runtime/sys/sys.h"
#include "runtime/track/guarded.h"
#include "runtime/unwind/walk.h"

#include <linux/prctl.h>
#include <linux/seccomp.h>

/* <stdlib.h> declares what our hooks are called. */
int on_exit(void (*function)(int status, void *argument), void *argument);
int __cxa_at_quick_exit(void (*function)(void *), void *object);

/* A recorder that lives looks so often at a process in a sandbox, and more. */
enum { NOTICE_MS = 500 };

/* A thread has called an end that does not come back: where, is in rt_facts. */
static _Atomic uint32_t is_ending;
/* libc calls us when all other handlers of quick_exit() have been called. */
static bool is_called_last_quick;
static int quick_status;

_Atomic uint32_t rt_exit_is_shared;

/* No call without need: a sandbox may kill for one that allows hardly more than to end. */
static bool is_ours(void)
{
	return rt_mine.control &&
	       (!rt_load(&rt_exit_is_shared) || rt_getpid_or_tid() == rt_header.pid);
}

void rt_confine(bool strict)
{
	/* Which process this is may not be asked later. A child in our memory leaves that as it is. */
	if (is_ours())
		rt_store(&rt_exit_is_shared, 0);
	rt_fork_give_name();
	rt_store(&rt_is_confined, true);
	rt_store(&rt_guard_is_blind, true);
	if (rt_mine.control)
		rt_store(&rt_global.state->confined, 1);
	if (!strict)
		return;
	rt_store(&rt_clock_is_coarse, true);
	rt_store(&rt_is_strict, true);
}

void rt_before_prctl(long option, unsigned long argument, unsigned long filter)
{
	if (option == PR_SET_NO_NEW_PRIVS)
		rt_fork_give_name();
	else if (option == PR_SET_SECCOMP && (filter || argument == SECCOMP_MODE_STRICT))
		rt_confine(argument == SECCOMP_MODE_STRICT);
	else if (option == PR_SET_TSC && argument == PR_TSC_SIGSEGV)
		rt_store(&rt_clock_is_coarse, true);
}

/* The recorder gives itself more time for a leak scan. */
static uint64_t wait_ns(const struct ledger_control *control)
{
	const uint64_t most_ms = core_larger(rt_options.exit_wait_ms, LEDGER_SCAN_WAIT_MS);

	return core_smaller(rt_load(&control->exit_wait_ms), most_ms) * UINT64_C(1000000);
}

/*
 * Which calls the sandbox lets pass is not known: none is made. The recorder looks by itself, says
 * that it has seen the end, and stops this process while it looks for leaks.
 */
static void wait_without_calls(const struct ledger_control *control)
{
	const uint64_t began_ns = rt_now_ns();
	uint64_t until_ns = began_ns + NOTICE_MS * UINT64_C(1000000);
	uint32_t ack;

	while ((ack = rt_load_acquire(&control->exit_ack)) != LEDGER_EXIT_GO_ON &&
	       rt_now_ns() < until_ns) {
		if (ack == LEDGER_EXIT_SEEN)
			until_ns = began_ns + wait_ns(control);
		__builtin_ia32_pause();
	}
}

static void wait_for_recorder(struct ledger_control *control)
{
	uint64_t began_ns, until_ns;

	rt_recorder_meet();
	began_ns = rt_now_ns();
	do
		until_ns = began_ns + wait_ns(control);
	while (!rt_recorder_wait(&control->exit_ack, LEDGER_EXIT_GO_ON, until_ns) &&
	       rt_now_ns() >= until_ns && began_ns + wait_ns(control) > until_ns);
}

void rt_exit_notice(enum ledger_ended ended, int status)
{
	struct ledger_state *state;
	bool is_met;

	if (!is_ours())
		return;
	rt_guard_look();
	state = rt_global.state;
	/*
	 * Most forks get their name, by which the recorder meets them, at their end. A server may
	 * fork for each request: only where all leaks are wanted, whatever that costs, do they wait.
	 */
	is_met = rt_header.origin == LEDGER_ORIGIN_START ||
		 rt_load(&rt_global.control->recorder_pid);
	if (ended == LEDGER_ENDED_EXIT) {
		rt_suppressions_note();
		rt_store(&state->exit_status, (uint32_t)status & 0xff);
		rt_store(&state->exit_status_known, 1);
	}
	/* Of a death by signal nobody knows when it was; and its handler may leave abort(). */
	rt_store(&state->ended_ns, ended == LEDGER_ENDED_ABORT ? 0 : rt_now_ns());
	/* An answer may be there: to an abort or exit that was not the last. */
	(void)atomic_exchange_explicit(&rt_global.control->exit_ack, LEDGER_EXIT_NONE,
				       memory_order_seq_cst);
	rt_store_release(&state->ended, ended);
	/* Nobody has seen it, and nobody would take it away. */
	if (ended == LEDGER_ENDED_EXIT && rt_ledger_is_half_made())
		rt_ledger_remove();
	if (rt_fork_end(ended))
		return;
	(void)atomic_fetch_add_explicit(&state->attention, 1, memory_order_release);
	if (!rt_header.session)
		return;
	if (rt_load(&rt_is_confined)) {
		wait_without_calls(rt_global.control);
		return;
	}
	rt_futex_wake(&state->attention);
	if (is_met || (rt_options.fill < LEDGER_FILL_NONE && ended == LEDGER_ENDED_EXIT))
		wait_for_recorder(rt_global.control);
}

void rt_exit_withdraw(void)
{
	uint32_t last = LEDGER_ENDED_EXEC;

	if (!is_ours() || !atomic_compare_exchange_strong_explicit(
				  &rt_global.state->ended, &last, LEDGER_ENDED_RUNNING,
				  memory_order_release, memory_order_relaxed))
		return;
	rt_store(&rt_global.state->ended_ns, 0);
	if (!rt_load(&is_ending))
		rt_store(&rt_facts.exit_tid, 0);
	(void)atomic_fetch_add_explicit(&rt_global.state->attention, 1, memory_order_release);
	rt_futex_wake(&rt_global.state->attention);
}

static uint32_t own_tid(void)
{
	return rt_tls.tid ? rt_tls.tid : rt_gettid();
}

/* Whoever reads it has stopped us, or waits until we have said that it is there. */
static void set_exit_point(uint32_t tid, uint64_t stack, const uint64_t *registers)
{
	rt_store_release(&rt_facts.exit_tid, 0);
	for (unsigned i = 0; i < LEDGER_EXIT_REGISTERS; i++)
		rt_store(&rt_facts.exit_registers[i], registers[i]);
	rt_store(&rt_facts.exit_stack, stack);
	rt_store_release(&rt_facts.exit_tid, tid);
}

static void set_caller(const uint64_t *registers)
{
	set_exit_point(own_tid(), (uintptr_t)&registers[LEDGER_EXIT_REGISTERS], registers);
}

void rt_exit_point_pretend(const uint64_t registers[LEDGER_EXIT_REGISTERS + 1],
			   struct rt_exit_point *ret_before)
{
	ret_before->tid = rt_load(&rt_facts.exit_tid);
	ret_before->stack = rt_load(&rt_facts.exit_stack);
	for (unsigned i = 0; i < LEDGER_EXIT_REGISTERS; i++)
		ret_before->registers[i] = rt_load(&rt_facts.exit_registers[i]);
	set_caller(registers);
}

void rt_exit_point_restore(const struct rt_exit_point *before)
{
	/* Another thread may have called exit() meanwhile. */
	if (rt_load(&rt_facts.exit_tid) != own_tid())
		return;
	set_exit_point(before->tid, before->stack, before->registers);
}

void rt_exit_enter(const uint64_t registers[LEDGER_EXIT_REGISTERS + 1], enum ledger_ended ended)
{
	/* A constructor may come here before anything was allocated, hence before the search. */
	rt_next_find();
	if (!is_ours() || rt_load(&is_ending))
		return;
	/* exec may fail, and a handler may leave abort(). */
	if (ended == LEDGER_ENDED_EXIT &&
	    atomic_exchange_explicit(&is_ending, 1, memory_order_relaxed))
		return;
	set_caller(registers);
}

/*
 * Called by libc itself, after main has returned or by its last thread: what it has in registers is
 * its own.
 */
static void find_exit_point(const void *frame)
{
	static const uint64_t none[LEDGER_EXIT_REGISTERS];
	uint64_t stack;

	if (!is_ours() || rt_load(&is_ending))
		return;
	stack = rt_walk_seek(frame, rt_next_is_in_exit);
	if (stack && !atomic_exchange_explicit(&is_ending, 1, memory_order_relaxed))
		set_exit_point(own_tid(), stack, none);
}

void rt_exit_forked(uint32_t before)
{
	const uint32_t tid = rt_load(&rt_facts.exit_tid);

	/* In a handler, say. Then it is the child that is ending, too. */
	if (tid && tid == before) {
		rt_store(&rt_facts.exit_tid, rt_gettid());
		return;
	}
	/* Not without need: each is a page of the child's. The thread may not have said where yet. */
	if (tid)
		rt_store(&rt_facts.exit_tid, 0);
	if (rt_load(&is_ending))
		rt_store(&is_ending, 0);
}

static void at_true_end(int status, void *unused)
{
	(void)unused;
	find_exit_point(__builtin_frame_address(0));
	rt_exit_notice(LEDGER_ENDED_EXIT, status);
}

static void at_true_quick_end(void *unused)
{
	(void)unused;
	rt_exit_notice(LEDGER_ENDED_EXIT, quick_status);
}

void rt_exit_notice_quick(int status)
{
	quick_status = status;
	if (!is_called_last_quick)
		rt_exit_notice(LEDGER_ENDED_EXIT, status);
}

/*
 * What is registered first is called last. Our constructor runs before the program's start
 * registers the destructors of all objects, so we are called after these and after all functions
 * given to atexit(). What frees blocks there frees them before anybody looks for leaks.
 */
void rt_exit_start(void)
{
	(void)on_exit(at_true_end, NULL);
	is_called_last_quick = __cxa_at_quick_exit(at_true_quick_end, NULL) == 0;
}
