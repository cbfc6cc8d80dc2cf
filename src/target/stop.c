/* SPDX-License-Identifier: MIT */
#include "target/stop.h"

#include "base/clock.h"
#include "base/procfs.h"
#include "base/xalloc.h"
#include "target/injection.h"
#include "target/stop_refusal.h"
#include "target/tracee.h"

#include <elf.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	VECTORS_MAX_BYTES = 16 * 1024, /* with AMX 11 KB */
	ZOMBIE_TURNS = 50,	       /* of waiting, before /proc is asked for a zombie */
	TURNS_MAX = 10000,
	STARVED_TIMES = 10, /* one that wants to run and does not get a processor will answer */
};

#define ANSWER_NS 1000000000ull

static bool is_held(const struct seep_stopped *stopped, pid_t tid)
{
	size_t at = SEEP_IDTABLE_START;

	return seep_idtable_find(&stopped->tids, (uint64_t)tid, &at) != SEEP_IDTABLE_NONE;
}

/* Returns an errno if that is refused, or 0. One that has just ended counts as done. */
static int seize(struct seep_stopped *stopped, pid_t tid)
{
	enum seep_tracee where = SEEP_TRACEE_RUNS;
	int signal;

	if (ptrace(PTRACE_SEIZE, tid, NULL, (void *)PTRACE_O_TRACESYSGOOD) < 0) {
		int problem = errno;

		/* Of one that is not traced by this thread already nothing can be said. */
		where = seep_tracee_look(tid, &signal);
		if (where == SEEP_TRACEE_GONE)
			return problem == ESRCH || seep_tracee_has_ended(tid) ? 0 : problem;
	}
	if (where == SEEP_TRACEE_RUNS)
		(void)ptrace(PTRACE_INTERRUPT, tid, NULL, NULL);
	seep_idtable_add(&stopped->tids, (uint64_t)tid, (uint32_t)stopped->thread_count);
	*SEEP_APPEND(stopped->threads, stopped->thread_count) = (struct seep_thread){ .tid = tid };
	return 0;
}

/*
 * The kernel keeps a dead thread until its tracer has seen it, and an exec waits for that. What
 * the first one ended with is for the process's parent to see: if we are that, other threads of
 * ours wait for it.
 */
static void bury(const struct seep_stopped *stopped, struct seep_thread *thread)
{
	struct seep_procfs_stat stat;

	thread->stopped = false;
	thread->gone = true;
	if (thread->tid == stopped->pid &&
	    (!seep_procfs_stat((uint32_t)thread->tid, &stat) || (pid_t)stat.ppid == getpid()))
		return;
	(void)waitpid(thread->tid, NULL, __WALL | __WNOTHREAD | WNOHANG);
}

/* What it was about to do it still does, then it stops. Returns false while that is to come. */
static bool is_settled(const struct seep_stopped *stopped, struct seep_thread *thread,
		       unsigned turns)
{
	int signal;

	switch (seep_tracee_look(thread->tid, &signal)) {
	case SEEP_TRACEE_STOPPED:
	case SEEP_TRACEE_EXIT:
		thread->stopped = true;
		return true;
	case SEEP_TRACEE_SIGNAL:
		/* Its handler has not run when the thread stops; or it ends or stops all. */
		seep_tracee_go(PTRACE_CONT, thread->tid, signal);
		return false;
	case SEEP_TRACEE_CALL:
	case SEEP_TRACEE_EVENT:
		seep_tracee_go(PTRACE_CONT, thread->tid, 0);
		return false;
	case SEEP_TRACEE_GONE:
		break;
	case SEEP_TRACEE_RUNS:
		if (turns % ZOMBIE_TURNS != ZOMBIE_TURNS - 1 || !seep_tracee_has_ended(thread->tid))
			return false;
	}
	bury(stopped, thread);
	return true;
}

/* Wait until those from @first on have stopped, ended, or let their time pass. */
static void await(struct seep_stopped *stopped, struct seep_thread *first, size_t count)
{
	const uint64_t began_ns = seep_monotonic_ns();
	bool all = false;

	for (unsigned turns = 0; !all; turns++) {
		const uint64_t waited_ns = seep_monotonic_ns() - began_ns;

		all = true;
		for (size_t i = 0; i < count; i++) {
			struct seep_thread *thread = &first[i];

			if (thread->stopped || thread->gone || is_settled(stopped, thread, turns))
				continue;
			if (waited_ns < stopped->answer_ns ||
			    (waited_ns < STARVED_TIMES * stopped->answer_ns &&
			     seep_tracee_state(thread->tid) == 'R'))
				all = false;
		}
		if (!all)
			seep_tracee_pause(turns);
	}
	stopped->stopped_ns = seep_monotonic_ns();
}

/* Stop what is new in the list of threads; an errno: one may not be traced. */
static int stop_listed(struct seep_stopped *stopped, DIR *threads, size_t *ret_listed)
{
	pid_t tid;

	for (*ret_listed = 0; (tid = seep_procfs_thread(threads));) {
		int problem = 0;

		if (!is_held(stopped, tid))
			problem = seize(stopped, tid);
		if (problem)
			return problem;
		/* A first thread that has ended is listed until the last one has. */
		if (tid == stopped->pid || is_held(stopped, tid))
			++*ret_listed;
	}
	return 0;
}

/*
 * Once all known threads stood still and the list has nothing new, nobody is left who could start
 * another. But a list may end early, where a thread ends just as it is listed: it is complete if
 * those of it that we hold are as many as the folder has (less its own two links).
 */
static int stop_new(struct seep_stopped *stopped)
{
	size_t before, listed;
	struct stat st;
	int problem;

	for (unsigned turns = 0; turns < TURNS_MAX; turns++) {
		DIR *threads = seep_procfs_threads(stopped->pid);

		if (!threads)
			return errno == ENOENT ? 0 : errno;
		before = stopped->thread_count;
		problem = stop_listed(stopped, threads, &listed);
		if (problem == 0 && fstat(dirfd(threads), &st) < 0)
			st.st_nlink = 0;
		seep_procfs_threads_done(threads);
		if (problem)
			return problem;
		await(stopped, stopped->threads + before, stopped->thread_count - before);
		if (stopped->thread_count == before && listed + 2 >= st.st_nlink)
			break;
	}
	return 0;
}

/*
 * One that waits in a system call has none: functions keep nothing in them over a call. What is there
 * may be of the thread that started this one, which passes them on, and keep a block reachable for
 * as long as this one lives.
 */
static void read_vectors(struct seep_thread *thread)
{
	uint64_t words[VECTORS_MAX_BYTES / sizeof(uint64_t)];
	struct iovec to = { words, sizeof(words) };

	free(thread->vectors);
	thread->vectors = NULL;
	thread->vector_count = 0;
	if ((long long)thread->registers.orig_rax >= 0)
		return;
	if (ptrace(PTRACE_GETREGSET, thread->tid, (void *)NT_X86_XSTATE, &to) < 0 || !to.iov_len)
		return;
	thread->vector_count = to.iov_len / sizeof(*words);
	thread->vectors = seep_xmemdup(words, thread->vector_count * sizeof(*words));
}

/*
 * System calls that say EINTR even where no handler runs (signal(7)): they do not know how to be
 * taken up again, but can simply be made again. Those with a time begin it anew.
 */
static const unsigned short impatient_calls[] = {
	SYS_epoll_wait,
	SYS_epoll_pwait,
	SYS_epoll_pwait2,
	SYS_semop,
	SYS_semtimedop,
	SYS_io_getevents,
	SYS_io_uring_enter,
	SYS_rt_sigtimedwait,
	/* Of sockets with a timeout (SO_RCVTIMEO, SO_SNDTIMEO). */
	SYS_read,
	SYS_readv,
	SYS_write,
	SYS_writev,
	SYS_recvfrom,
	SYS_recvmsg,
	SYS_recvmmsg,
	SYS_sendto,
	SYS_sendmsg,
	SYS_sendmmsg,
	SYS_accept,
	SYS_accept4,
	SYS_connect,
};

/*
 * The kernel takes up a wait with a time by restart_syscall(), which a filter may kill for: a
 * program makes that call only where it is stopped or continued.
 */
static bool is_restart_filtered(const struct seep_thread *thread)
{
	struct seep_procfs_status status;

	return (long long)thread->registers.rax == -SEEP_ERESTART_RESTARTBLOCK &&
	       seep_procfs_status((uint32_t)thread->tid, &status) && status.seccomp;
}

static bool says_interrupted(const struct seep_thread *thread)
{
	if ((long long)thread->registers.rax != -EINTR)
		return false;
	for (size_t i = 0; i < sizeof(impatient_calls) / sizeof(*impatient_calls); i++)
		if (thread->registers.orig_rax == impatient_calls[i])
			return true;
	return false;
}

/* Rather than that EINTR it gets what pause() ends with, which a handler turns into EINTR. */
static void hide_interruption(struct seep_thread *thread)
{
	if (!says_interrupted(thread) && !is_restart_filtered(thread))
		return;
	thread->registers.rax = (unsigned long long)-SEEP_ERESTARTNOHAND;
	(void)ptrace(PTRACE_SETREGS, thread->tid, NULL, &thread->registers);
}

void seep_stop_spare_restart(pid_t tid)
{
	struct seep_thread thread = { .tid = tid };

	if (ptrace(PTRACE_GETREGS, tid, NULL, &thread.registers) == 0 &&
	    is_restart_filtered(&thread))
		hide_interruption(&thread);
}

static void read_registers(struct seep_thread *thread)
{
	/* It can be killed at any moment. */
	if (!thread->stopped)
		return;
	if (ptrace(PTRACE_GETREGS, thread->tid, NULL, &thread->registers) < 0)
		thread->stopped = false;
	else
		read_vectors(thread);
	hide_interruption(thread);
}

static void forget_gone(struct seep_stopped *stopped)
{
	size_t kept = 0;

	for (size_t i = 0; i < stopped->thread_count; i++)
		if (!stopped->threads[i].gone)
			stopped->threads[kept++] = stopped->threads[i];
	stopped->thread_count = kept;
}

static int not_traceable(pid_t pid, int errno_value, struct seep_error *err)
{
	struct seep_refusal refusal;

	seep_refusal_look(pid, &refusal);
	return seep_refusal_say(&refusal, errno_value, err);
}

/* There is no folder of it, or nothing in it that could be stopped. */
static int not_found(pid_t pid, struct seep_error *err)
{
	if (kill(pid, 0) == 0 || errno == EPERM) {
		const char state = seep_tracee_state(pid);

		if (!state)
			return not_traceable(pid, EPERM, err);
		if (state != 'Z')
			return seep_fail(err, SEEP_ESYS, "process %d ended while it was stopped",
					 pid);
	}
	return seep_fail(err, SEEP_ENOTFOUND, "there is no process %d, or it has ended", pid);
}

int seep_stop(pid_t pid, struct seep_stopped **ret_stopped, struct seep_error *err)
{
	return seep_stop_briefly(pid, ANSWER_NS, ret_stopped, err);
}

int seep_stop_briefly(pid_t pid, uint64_t answer_ns, struct seep_stopped **ret_stopped,
		      struct seep_error *err)
{
	struct seep_stopped *stopped = seep_xcalloc(1, sizeof(*stopped));
	int problem, rc;

	stopped->pid = pid;
	stopped->answer_ns = answer_ns;
	/* Found now, it costs no time that the process stands still. */
	stopped->call_site = seep_injection_site(pid);
	stopped->began_ns = seep_monotonic_ns();
	problem = seep_call_is_refused(SYS_ptrace) ? EPERM : stop_new(stopped);
	if (problem) {
		seep_stop_release(stopped);
		return not_traceable(pid, problem, err);
	}
	for (size_t i = 0; i < stopped->thread_count; i++)
		read_registers(&stopped->threads[i]);
	forget_gone(stopped);
	if (stopped->thread_count == 0) {
		rc = not_found(pid, err);
		seep_stop_release(stopped);
		return rc;
	}
	*ret_stopped = stopped;
	return 0;
}

void seep_stop_let(struct seep_stopped *stopped, struct seep_thread *thread, uint64_t ns)
{
	const uint64_t end_ns = seep_monotonic_ns() + ns;
	const size_t at = (size_t)(thread - stopped->threads), known = stopped->thread_count;
	int signal;

	if (!thread->stopped)
		return;
	thread->stopped = false;
	for (unsigned turns = 0; seep_monotonic_ns() < end_ns; turns++) {
		switch (seep_tracee_look(thread->tid, &signal)) {
		case SEEP_TRACEE_SIGNAL:
			seep_tracee_go(PTRACE_CONT, thread->tid, signal);
			break;
		case SEEP_TRACEE_RUNS:
			seep_tracee_pause(turns);
			break;
		case SEEP_TRACEE_GONE:
			bury(stopped, thread);
			return;
		default:
			seep_tracee_go(PTRACE_CONT, thread->tid, 0);
		}
	}
	(void)ptrace(PTRACE_INTERRUPT, thread->tid, NULL, NULL);
	await(stopped, thread, 1);
	(void)stop_new(stopped);
	read_registers(&stopped->threads[at]);
	for (size_t i = known; i < stopped->thread_count; i++)
		read_registers(&stopped->threads[i]);
}

/* Returns false if it was killed meanwhile and is not dead yet. */
static bool release_thread(const struct seep_stopped *stopped, struct seep_thread *thread)
{
	/* Also one that has stopped since, too late for us. */
	if (!thread->stopped && !thread->gone)
		(void)is_settled(stopped, thread, ZOMBIE_TURNS - 1);
	if (!thread->stopped)
		return true;
	thread->gone = ptrace(PTRACE_DETACH, thread->tid, NULL, NULL) == 0;
	thread->stopped = false;
	return thread->gone;
}

void seep_stop_release(struct seep_stopped *stopped)
{
	bool all = true;

	if (!stopped)
		return;
	for (size_t i = 0; i < stopped->thread_count; i++)
		all = release_thread(stopped, &stopped->threads[i]) && all;
	if (!all)
		await(stopped, stopped->threads, stopped->thread_count);
	for (size_t i = 0; i < stopped->thread_count; i++)
		free(stopped->threads[i].vectors);
	seep_idtable_done(&stopped->tids);
	free(stopped->threads);
	free(stopped);
}
