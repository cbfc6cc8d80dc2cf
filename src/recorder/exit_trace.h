/* SPDX-License-Identifier: MIT */
/*
 * Following a process by ptrace, so that it can be scanned for leaks when a signal kills it: the
 * kernel stops each of its threads at its end (PTRACE_O_TRACEEXIT), where memory and registers are
 * still there.
 *
 * One thread of ours traces all threads of the process. A signal is passed on as it is; a stop by
 * job control stays one; what is asked of a thread is asked of itself, and what wait() shows is
 * only looked at, never taken: a child's stops and its status are other threads' too. If that
 * thread ends, or all of seep is killed, the kernel lets the process go on as it was.
 */
#ifndef SEEP_RECORDER_EXIT_TRACE_H
#define SEEP_RECORDER_EXIT_TRACE_H

#include "recorder/leak_check.h"

struct seep_exit_trace;

/*
 * Trace the process of @ledger, which is @pid here; when this returns it is traced, or cannot be.
 * All signals but SIGBUS are blocked in the calling thread. @ledger and @plan are borrowed.
 */
struct seep_exit_trace *seep_exit_trace_begin(const struct seep_ledger *ledger, uint32_t pid,
					      const struct seep_leak_check_plan *plan)
	__attribute__((returns_nonnull));

/**
 * seep_exit_trace_end - let the process go
 * @trace:   is released
 * @ret_why: if nothing was scanned for want of something, what
 * @ret_death: if a signal killed it, its status as wait() says it; else 0
 *
 * Afterwards others can trace it. If it is dying by a signal, this waits for the scan.
 *
 * Returns: the scan of its death by a signal; NULL: it has not died so, or could not be scanned.
 */
SEEP_NODISCARD struct seep_leak_scan *seep_exit_trace_end(struct seep_exit_trace *trace,
							  struct seep_error *ret_why,
							  int *ret_death);

#endif
