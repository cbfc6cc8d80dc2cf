/* SPDX-License-Identifier: MIT */
#include "runtime/life/rt_scan_request.h"

#include "runtime/life/exit.h"
#include "runtime/life/fork.h"
#include "runtime/life/start.h"
#include "runtime/life/start_tool.h"
#include "runtime/next/next.h"
#include "runtime/sys/sys.h"
#include "runtime/sys/tables.h"
#include "runtime/unwind/walk.h"

#include <errno.h>
#include <string.h>

enum {
	CHECK_US = 100000,
	MEET_MS = 1000,
	MEET_CHECK_US = 10000,
	TURN_US = 10000,
	LIST_MAX = 1 << 12,
};

/* Sandboxes let getpgid() pass more often than kill(). */
static bool is_gone(uint32_t pid)
{
	return rt_syscall3(SYS_getpgid, pid, 0, 0) == -ESRCH;
}

/*
 * A living recorder answers at once, so whether it lives is asked only when it has not: sandboxes
 * kill for system calls that a process of their kind does not make.
 */
bool rt_recorder_wait(_Atomic uint32_t *word, uint32_t wanted, uint64_t until_ns)
{
	for (;;) {
		/* A handler may fork meanwhile: in the child zeros stand there. */
		uint32_t recorder = rt_load_acquire(&rt_global.control->recorder_pid);
		uint32_t seen = rt_load_acquire(word);
		long waited;

		if (seen == wanted)
			return true;
		if (!recorder || rt_now_ns() >= until_ns)
			return false;
		waited = rt_futex_wait(word, seen, CHECK_US);
		if (waited == -ETIMEDOUT && is_gone(recorder))
			return rt_load_acquire(word) == wanted;
	}
}

void rt_recorder_meet(void)
{
	struct ledger_control *control = rt_mine.control;
	const uint32_t recorder = (uint32_t)rt_header.session &
				  ((UINT32_C(1) << LEDGER_SESSION_PID_BITS) - 1);
	const uint64_t until_ns = rt_now_ns() + MEET_MS * UINT64_C(1000000);

	if (!recorder)
		return;
	while (!rt_load_acquire(&control->recorder_pid) && !rt_load_acquire(&control->exit_ack) &&
	       (rt_load(&control->mode) & LEDGER_MODE_MASK) != LEDGER_MODE_OFF &&
	       rt_now_ns() < until_ns)
		if (rt_futex_wait(&control->exit_ack, 0, MEET_CHECK_US) == -ETIMEDOUT &&
		    is_gone(recorder))
			return;
}

/* The thread whose request it is. */
static _Atomic uint32_t asker;
/* False: this thread asks already, further out; unless a handler has left that by longjmp(). */
static bool take_turn(const void *frame)
{
	const uintptr_t before = rt_load(&rt_tls.asks_at);
	uint32_t tid = rt_gettid();

	/* A handler that comes in between sees either no turn, or where it was taken. */
	rt_store(&rt_tls.asks_at, (uintptr_t)frame);
	atomic_signal_fence(memory_order_seq_cst);
	for (;;) {
		uint32_t other = 0;

		if (atomic_compare_exchange_strong_explicit(
			    &asker, &other, tid, memory_order_acquire, memory_order_relaxed))
			return true;
		if (other == tid && rt_walk_is_inside(frame, before)) {
			rt_store(&rt_tls.asks_at, before);
			return false;
		}
		if (other == tid)
			return true;
		/* Forked away from it, or it has ended. */
		if (rt_is_gone(rt_header.pid, other))
			(void)atomic_compare_exchange_strong_explicit(
				&asker, &other, 0, memory_order_relaxed, memory_order_relaxed);
		else
			(void)rt_futex_wait(&asker, other, TURN_US);
	}
}

void rt_scan_done(void)
{
	rt_store_release(&asker, 0);
	rt_futex_wake(&asker);
}

static const char *wait_for_answer(uint32_t request)
{
	(void)atomic_fetch_add_explicit(&rt_global.state->attention, 1, memory_order_release);
	rt_futex_wake(&rt_global.state->attention);
	return rt_recorder_wait(&rt_global.control->scan_answer, request, UINT64_MAX)
		       ? NULL
		       : "its recorder has ended";
}

static const char *ask(enum ledger_scan_kind kind, bool is_recorded, struct rt_lost *ret_lost)
{
	struct ledger_control *control = rt_mine.control;
	struct ledger_state *state = rt_global.state;
	uint32_t request = rt_load(&state->scan_request) + 1;
	const char *why;
	uint64_t real;

	/* Whoever answers writes as many as are real. */
	(void)rt_table_offer(LEDGER_TABLE_LOST, LIST_MAX);
	rt_store(&state->scan_kind, kind);
	rt_store_release(&state->scan_request, request);
	why = is_recorded ? wait_for_answer(request) : rt_tool_run();
	if (rt_load_acquire(&control->scan_answer) != request)
		return why;
	if (rt_load(&control->scan_failed))
		return "";
	real = rt_load(&rt_tables[LEDGER_TABLE_LOST].ready);
	*ret_lost = (struct rt_lost){
		.blocks = rt_load(&control->scan_leaks),
		.bytes = rt_load(&control->scan_leak_bytes),
		.listed = rt_load(&control->scan_listed),
		.list = (struct ledger_lost *)(rt_global.base +
					       rt_header.table[LEDGER_TABLE_LOST].offset),
	};
	if (ret_lost->listed > real)
		ret_lost->listed = (uint32_t)real;
	return NULL;
}

const char *rt_scan_request(enum ledger_scan_kind kind, const uint64_t *registers,
			    const void *frame, struct rt_lost *ret_lost)
{
	struct ledger_control *control = rt_control();
	struct rt_exit_point before;
	uint32_t recorder;
	bool is_recorded;
	const char *why;

	if (!control || rt_getpid_or_tid() != rt_header.pid)
		return "this process is not recorded";
	/* The tool finds a ledger by its name. */
	rt_fork_give_name();
	rt_recorder_meet();
	recorder = rt_load_acquire(&control->recorder_pid);
	is_recorded = recorder && !is_gone(recorder);
	if (is_recorded && !rt_load(&control->scan_ready))
		return "its recorder does not look for leaks";
	if (!take_turn(frame))
		return "this thread looks for leaks already";
	rt_suppressions_note();
	rt_exit_point_pretend(registers, &before);
	why = ask(kind, is_recorded, ret_lost);
	rt_exit_point_restore(&before);
	if (why)
		rt_scan_done();
	return why;
}

void rt_suppressions_note(void)
{
	const char *(*function)(void);
	struct ledger_string text;
	const char *said;

	if (rt_load(&rt_global.state->suppressions))
		return;
	function = (const char *(*)(void))rt_find_in_program("__lsan_default_suppressions");
	said = function ? function() : NULL;
	if (!said)
		return;
	text = rt_table_string(said, strlen(said));
	rt_store(&rt_global.state->suppressions, text.offset | (uint64_t)text.bytes << 32);
}
