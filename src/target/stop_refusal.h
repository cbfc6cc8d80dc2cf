/* SPDX-License-Identifier: MIT */
/*
 * Why the kernel does not let us trace a process. The kernel says EPERM for ten different reasons;
 * here they are told apart by what /proc says. Collecting and concluding are two functions, so that
 * a test can invent a machine.
 */
#ifndef SEEP_TARGET_STOP_REFUSAL_H
#define SEEP_TARGET_STOP_REFUSAL_H

#include "base/error.h"

#include <stdbool.h>
#include <sys/types.h>

struct seep_refusal {
	pid_t pid;
	char name[64]; /* its program */
	pid_t tracer;  /* 0 none */
	char tracer_name[64];
	bool is_own;	    /* this very process */
	bool has_proc;	    /* /proc is there and shows it */
	bool is_kernels;    /* a thread of the kernel */
	bool is_filtered;   /* a filter on our own system calls refuses ptrace() */
	bool may_trace_any; /* we have CAP_SYS_PTRACE */
	int yama;	    /* kernel.yama.ptrace_scope; 0: no restriction */
	bool descends;	    /* the process descends from us */
	bool other_user;    /* one of its user ids is not ours */
	bool is_guarded;    /* it is not dumpable */
	bool is_beyond;	    /* we have, but not in its user namespace */
	bool more_capable;  /* it has capabilities that we have not */
};

/* What holds for @pid now. */
void seep_refusal_look(pid_t pid, struct seep_refusal *ret_refusal);

/* Returns -SEEP_EREFUSED, always, and fills @err. @errno_value: what ptrace() failed with. */
int seep_refusal_say(const struct seep_refusal *refusal, int errno_value, struct seep_error *err);

/*
 * Does a filter (seccomp) that we run under refuse SYS_ptrace, SYS_process_vm_readv or _writev? It
 * may end who calls, so where there is a filter a child of ours tries it. Threads: any.
 */
bool seep_call_is_refused(long number);

#endif
