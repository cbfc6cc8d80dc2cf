/* SPDX-License-Identifier: MIT */
/*
 * One thread that this thread traces: where it stands, and how to move it on.
 *
 * Where it stands is asked of the thread itself, never of wait(): stops of a child of ours are
 * shown to whichever of our threads waits first, and an exit status is not ours to take.
 */
#ifndef SEEP_TARGET_TRACEE_H
#define SEEP_TARGET_TRACEE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* How a system call that was interrupted ends inside the kernel; programs never see it. */
enum {
	SEEP_ERESTARTSYS = 512,
	SEEP_ERESTARTNOINTR = 513,
	SEEP_ERESTARTNOHAND = 514,
	SEEP_ERESTART_RESTARTBLOCK = 516,
};

enum seep_tracee {
	SEEP_TRACEE_RUNS = 0,
	SEEP_TRACEE_STOPPED, /* as we asked; or by a stop signal, which goes on to stop it */
	SEEP_TRACEE_SIGNAL,  /* a signal is about to be delivered */
	SEEP_TRACEE_CALL,    /* at the begin or end of a system call */
	SEEP_TRACEE_EVENT,   /* in a system call: it has made a child */
	SEEP_TRACEE_EXIT,    /* at its end, by PTRACE_O_TRACEEXIT: all that it had is still there */
	SEEP_TRACEE_GONE,    /* it has ended */
};

/* @ret_signal: of SEEP_TRACEE_SIGNAL which. */
enum seep_tracee seep_tracee_look(pid_t tid, int *ret_signal);

/*
 * The same once it stands somewhere. SEEP_TRACEE_RUNS: it still ran at @deadline_ns, monotonic.
 */
enum seep_tracee seep_tracee_await(pid_t tid, uint64_t deadline_ns, int *ret_signal);

/* Let it go on by a PTRACE_CONT, _SYSCALL or _DETACH, delivering @signal unless that is 0. */
void seep_tracee_go(int request, pid_t tid, int signal);

/* Its state as /proc has it: 'R', 'S', 'Z', ...; 0: there is none. */
char seep_tracee_state(pid_t tid);

/* Its memory may be there still, if others have it too. */
bool seep_tracee_has_ended(pid_t tid);

/* Into its memory, where it may write itself. False: not all of it. */
bool seep_tracee_write(pid_t tid, uint64_t at, const void *from, size_t bytes);

/*
 * From and into its memory as a debugger: it need not be able to write there itself, and gets a copy of a page
 * of code. It is stopped. False: not all of it.
 */
bool seep_tracee_peek(pid_t tid, uint64_t at, void *to, size_t bytes);
bool seep_tracee_poke(pid_t tid, uint64_t at, const void *from, size_t bytes);

/*
 * The restartable sequence that a stopped thread may be in, as the word at *@ret_at says: it begins again when
 * it is interrupted. 0 with *@ret_at 0: none can be; UINT64_MAX: it cannot be read.
 */
uint64_t seep_tracee_sequence(pid_t tid, uint64_t *ret_at);

/* Some of its system calls are led to a handler of its own (syscall user dispatch), as the kernel says since 6.4. */
bool seep_tracee_diverts_calls(pid_t tid);

/* Leave the processor for a moment, longer if that was done @turns times already. */
void seep_tracee_pause(unsigned turns);

#endif
