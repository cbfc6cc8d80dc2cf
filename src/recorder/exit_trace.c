/* SPDX-License-Identifier: MIT */
#include "recorder/exit_trace.h"

#include "base/clock.h"
#include "base/procfs.h"
#include "base/xalloc.h"
#include "recorder/run_signals.h"
#include "target/stop.h"
#include "target/stop_refusal.h"
#include "target/tracee.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { PATH_BYTES = 48, EVENT_SHIFT = 8, WAKE_EVERY_NS = 1000000 };

#define FOLLOWED (PTRACE_O_TRACEEXIT | PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC)
#define WAKE SIGRTMIN

struct seep_exit_trace {
	const struct seep_ledger *ledger;
	const struct seep_leak_check_plan *plan;
	pid_t pid;
	pthread_t thread;
	bool has_thread;
	sem_t begun;
	_Atomic int ends;
	/* The thread's own, the caller's after it was joined. */
	pid_t tid; /* of the thread */
	int death;
	struct seep_leak_scan *scan;
	struct seep_error why;
};

/* Returns how many were not traced before; *@ret_problem: why the last of the others is not. */
static size_t seize_listed(const struct seep_exit_trace *trace, int *ret_problem)
{
	SEEP_RELEASED(seep_procfs_threads_done_at) DIR *threads = seep_procfs_threads(trace->pid);
	size_t seized = 0;
	pid_t tid;

	*ret_problem = threads ? 0 : errno;
	while ((tid = seep_procfs_thread(threads)))
		if (ptrace(PTRACE_SEIZE, tid, NULL, (void *)FOLLOWED) == 0)
			seized++;
		else
			*ret_problem = errno;
	return seized;
}

/* Those that a traced thread starts are traced from their begin on. */
static void seize(struct seep_exit_trace *trace)
{
	struct seep_refusal refusal;
	int problem, unused;

	if (seize_listed(trace, &problem)) {
		while (seize_listed(trace, &unused))
			;
	} else if (problem != ESRCH && problem != ENOENT) {
		seep_refusal_look(trace->pid, &refusal);
		(void)seep_refusal_say(&refusal, problem, &trace->why);
	}
}

/* A child by clone() without an exit signal is no thread, and is none of ours. */
static bool is_thread(const struct seep_exit_trace *trace, pid_t tid)
{
	char path[PATH_BYTES];

	(void)snprintf(path, sizeof(path), "/proc/%d/task/%d", trace->pid, tid);
	return access(path, F_OK) == 0;
}

/* In a group stop it stays, but hears SIGCONT; then it stops once more, by SIGTRAP, to say so. */
static void meet_stop(const struct seep_exit_trace *trace, pid_t tid, int signal)
{
	if (!is_thread(trace, tid)) {
		seep_tracee_go(PTRACE_DETACH, tid, 0);
		return;
	}
	if (tid == trace->pid)
		seep_run_signals_note_stop(tid, signal != SIGTRAP);
	seep_tracee_go(signal == SIGTRAP ? PTRACE_CONT : PTRACE_LISTEN, tid, 0);
}

/*
 * One by SIGKILL shall not take longer than without us: the memory may be needed. An abort() was
 * scanned when it was called, but its signal's handler may have left it.
 */
static bool is_to_be_scanned(const struct seep_exit_trace *trace, int status)
{
	const uint32_t ended = LEDGER_GET(trace->ledger->state->ended);

	return WIFSIGNALED(status) && WTERMSIG(status) != SIGKILL &&
	       !(WTERMSIG(status) == SIGABRT && ended == LEDGER_ENDED_ABORT);
}

static void mask_wake(int how)
{
	sigset_t wake;

	(void)sigemptyset(&wake);
	(void)sigaddset(&wake, WAKE);
	(void)pthread_sigmask(how, &wake, NULL);
}

/*
 * A thread is at its end, and most often only that one. Returns false after the scan: there is
 * nothing more to follow.
 */
static bool meet_exit(struct seep_exit_trace *trace, pid_t tid)
{
	unsigned long status = 0;

	(void)ptrace(PTRACE_GETEVENTMSG, tid, NULL, &status);
	if (WIFSIGNALED((int)status))
		trace->death = (int)status;
	if (!is_to_be_scanned(trace, (int)status)) {
		seep_tracee_go(PTRACE_DETACH, tid, 0);
		return true;
	}
	mask_wake(SIG_BLOCK);
	(void)!seep_leak_check_scan(trace->ledger, (uint32_t)trace->pid, SEEP_SCAN_DYING,
				    trace->plan, &trace->scan, &trace->why);
	return false;
}

/*
 * The kernel keeps a thread that has ended until we have seen it; the first one's status is for
 * others.
 */
static bool meet_dead(const struct seep_exit_trace *trace, pid_t tid)
{
	if (tid != trace->pid)
		(void)waitpid(tid, NULL, __WALL | __WNOTHREAD | WNOHANG);
	return tid != trace->pid;
}

/*
 * Returns false when there is nothing more to follow. After an exec another ledger is the
 * program's.
 */
static bool meet(struct seep_exit_trace *trace, const siginfo_t *info)
{
	const int signal = info->si_status & ((1 << EVENT_SHIFT) - 1);

	if (info->si_code != CLD_TRAPPED)
		return meet_dead(trace, info->si_pid);
	switch (info->si_status >> EVENT_SHIFT) {
	case 0:
		seep_stop_spare_restart(info->si_pid);
		seep_tracee_go(PTRACE_CONT, info->si_pid, signal);
		return true;
	case PTRACE_EVENT_STOP:
		meet_stop(trace, info->si_pid, signal);
		return true;
	case PTRACE_EVENT_EXIT:
		return meet_exit(trace, info->si_pid);
	case PTRACE_EVENT_EXEC:
		return false;
	default:
		seep_tracee_go(PTRACE_CONT, info->si_pid, 0);
		return true;
	}
}

static void do_nothing(int number)
{
	(void)number;
}

/* It is to interrupt a wait(), and otherwise does nothing. */
static void hear_wake(void)
{
	struct sigaction action = { .sa_handler = do_nothing };

	(void)sigaction(WAKE, &action, NULL);
	mask_wake(SIG_UNBLOCK);
}

static void *trace_threads(void *argument)
{
	struct seep_exit_trace *trace = argument;
	bool goes_on = true;

	trace->tid = gettid();
	hear_wake();
	seize(trace);
	(void)sem_post(&trace->begun);
	while (goes_on && !atomic_load_explicit(&trace->ends, memory_order_acquire)) {
		siginfo_t info = { 0 };

		if (waitid(P_ALL, 0, &info, WEXITED | WSTOPPED | WNOWAIT | __WALL | __WNOTHREAD) ==
		    0)
			goes_on = meet(trace, &info);
		else
			goes_on = errno == EINTR;
	}
	return NULL;
}

struct seep_exit_trace *seep_exit_trace_begin(const struct seep_ledger *ledger, uint32_t pid,
					      const struct seep_leak_check_plan *plan)
{
	struct seep_exit_trace *trace = seep_xcalloc(1, sizeof(*trace));
	int problem;

	trace->ledger = ledger;
	trace->plan = plan;
	trace->pid = (pid_t)pid;
	(void)sem_init(&trace->begun, 0, 0);
	problem = pthread_create(&trace->thread, NULL, trace_threads, trace);
	trace->has_thread = problem == 0;
	if (problem == 0)
		(void)sem_wait(&trace->begun);
	else
		(void)seep_fail_errno(&trace->why, problem, "cannot start a thread");
	return trace;
}

static bool join_soon(pthread_t thread)
{
	const uint64_t at_ns = seep_monotonic_ns() + WAKE_EVERY_NS;
	const struct timespec at = { .tv_sec = (time_t)(at_ns / SEEP_NS_PER_S),
				     .tv_nsec = (long)(at_ns % SEEP_NS_PER_S) };

	return pthread_clockjoin_np(thread, NULL, CLOCK_MONOTONIC, &at) == 0;
}

/*
 * A thread that was joined may still be about to let go of what it traces, until it is gone for
 * good.
 */
static void end_thread(struct seep_exit_trace *trace)
{
	atomic_store_explicit(&trace->ends, 1, memory_order_release);
	do {
		/* It may be lost: the thread was about to wait. */
		(void)pthread_kill(trace->thread, WAKE);
	} while (!join_soon(trace->thread));
	for (unsigned turns = 0; syscall(SYS_tgkill, getpid(), trace->tid, 0) == 0; turns++)
		seep_tracee_pause(turns);
}

struct seep_leak_scan *seep_exit_trace_end(struct seep_exit_trace *trace,
					   struct seep_error *ret_why, int *ret_death)
{
	struct seep_leak_scan *scan;

	if (trace->has_thread)
		end_thread(trace);
	scan = trace->scan;
	*ret_death = trace->death;
	if (trace->why.code) {
		*ret_why = trace->why;
		seep_error_prefix(ret_why, "--trace-exit");
	}
	(void)sem_destroy(&trace->begun);
	free(trace);
	return scan;
}
