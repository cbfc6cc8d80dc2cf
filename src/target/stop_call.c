/* SPDX-License-Identifier: MIT */
#include "base/procfs.h"
#include "target/injection.h"
#include "target/stop.h"

#include <stdint.h>
#include <stdio.h>
#include <sys/ptrace.h>

enum {
	USER_CODE_64 = 0x33,   /* the code segment of 64-bit programs */
	GET_DISPATCH = 0x4211, /* PTRACE_GET_SYSCALL_USER_DISPATCH_CONFIG, since Linux 6.4 */
};

/* A thread that the kernel runs for io_uring is listed as one of the process, and has no place. */
static bool can_call(const struct seep_thread *thread)
{
	return thread->stopped && thread->registers.cs == USER_CODE_64 && thread->registers.rip;
}

/* One in a system call is in no restartable sequence. */
struct seep_thread *seep_stop_caller(const struct seep_stopped *stopped)
{
	struct seep_thread *any = NULL;

	for (size_t i = 0; i < stopped->thread_count; i++) {
		struct seep_thread *thread = &stopped->threads[i];

		if (!can_call(thread))
			continue;
		if ((long long)thread->registers.orig_rax >= 0)
			return thread;
		if (!any)
			any = thread;
	}
	return any;
}

/* The process has a part of its system calls brought to itself, as wine does. */
static bool dispatches(pid_t tid)
{
	struct {
		uint64_t mode, selector, offset, length;
	} config = { 0 };

	return ptrace((enum __ptrace_request)GET_DISPATCH, tid, (void *)sizeof(config), &config) ==
		       0 &&
	       config.mode;
}

bool seep_stop_may_call(struct seep_stopped *stopped, struct seep_error *ret_why)
{
	const struct seep_thread *caller = seep_stop_caller(stopped);
	struct seep_procfs_status status;
	const char *why = NULL;

	if (!caller)
		why = "none of its threads stands where it could make a system call";
	else if (!seep_procfs_status((uint32_t)caller->tid, &status))
		why = "what /proc says of it cannot be read";
	else if (status.seccomp)
		why = "a filter restricts its system calls (seccomp)";
	else if (dispatches(caller->tid))
		why = "it handles system calls itself (syscall user dispatch)";
	else if (!seep_injection_is_site(caller->tid, stopped->call_site))
		stopped->call_site = seep_injection_site(stopped->pid);
	if (!why && !stopped->call_site)
		why = "no instruction that makes a system call was found in it";
	if (why)
		(void)seep_fail(ret_why, SEEP_EREFUSED, "%s", why);
	return !why;
}

int seep_stop_call(struct seep_stopped *stopped, long number, const uint64_t arguments[6],
		   int64_t *ret_value, struct seep_error *err)
{
	struct seep_injection injection;
	int rc;

	if (!seep_stop_may_call(stopped, err))
		return -SEEP_EREFUSED;
	rc = seep_injection_begin(&injection, seep_stop_caller(stopped)->tid, stopped->call_site,
				  err);
	if (rc == 0)
		rc = seep_injection_call(&injection, number, arguments, ret_value, err);
	seep_injection_end(&injection);
	return rc;
}
