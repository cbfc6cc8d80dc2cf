/* SPDX-License-Identifier: MIT */
/*
 * Saying that the process is about to end, and waiting for a recorder that wants a last look.
 */
#ifndef SEEP_RUNTIME_EXIT_H
#define SEEP_RUNTIME_EXIT_H

#include "ledger/ledger_facts.h"
#include "runtime/rt.h"

/* Once, in our constructor. */
void rt_exit_start(void);

/*
 * An end was called, by a caller with these @registers; behind them stands the return address. It is
 * in rt_facts from now on, unless a thread is in one that does not come back; a failed exec takes it
 * out.
 */
void rt_exit_enter(const uint64_t registers[LEDGER_EXIT_REGISTERS + 1], enum ledger_ended ended);

/* What rt_facts says of where an end was called; tid 0: nothing. */
struct rt_exit_point {
	uint32_t tid;
	uint64_t stack;
	uint64_t registers[LEDGER_EXIT_REGISTERS];
};

/*
 * This thread waits for a leak scan, called by who has these @registers, as above: for that time it
 * is as if it ended, so that nobody takes what lies below on its stack for live. Then make it as
 * before.
 */
void rt_exit_point_pretend(const uint64_t registers[LEDGER_EXIT_REGISTERS + 1],
			   struct rt_exit_point *ret_before);
void rt_exit_point_restore(const struct rt_exit_point *before);

/* Once vfork() or clone() was called: whoever comes to an end may be another process. */
extern RT_HIDDEN _Atomic uint32_t rt_exit_is_shared;

/* This process is about to enter a sandbox; @strict: one that allows hardly any system call. */
RT_COLD void rt_confine(bool strict);

/* What it does if it is about to call prctl(): then, and where the clock goes. */
RT_COLD void rt_before_prctl(long option, unsigned long argument, unsigned long filter);

/* In a forked child: of its one thread, @before was the id. */
void rt_exit_forked(uint32_t before);

/*
 * Note the end in the ledger. If there is a recorder, wait up to a second until it is registered,
 * and at most exit_wait_ms until it acknowledges. Nothing happens in a process that does not own the
 * ledger. An abort that a handler leaves needs no word: the next end is noted in its place.
 */
void rt_exit_notice(enum ledger_ended ended, int status);

/* quick_exit() was called: note the end when its handlers have run, or now. */
void rt_exit_notice_quick(int status);

/* exec failed: the process goes on, if no other end was noted since. */
void rt_exit_withdraw(void);

#endif
