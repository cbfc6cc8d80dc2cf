/* SPDX-License-Identifier: MIT */
#include "recorder/run_signals.h"

#include "base/procfs.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

/* Those of job control come first. */
static const int taken[] = {
	SIGTSTP, SIGTTIN, SIGTTOU, SIGCONT, SIGCHLD, SIGINT,
	SIGQUIT, SIGTERM, SIGHUP,  SIGUSR1, SIGUSR2,
};

enum { JOB_CONTROL_COUNT = 4, TAKEN_COUNT = sizeof(taken) / sizeof(taken[0]) };

static pid_t main_target; /* set once */
/* Of the target, as the thread that traces it says; whoever has seen its stop says so. */
static _Atomic int traced_stop;
enum { GOES_ON = 0, HAS_STOPPED, STOP_SEEN };

static void set_of(int count, sigset_t *set)
{
	(void)sigemptyset(set);
	for (int i = 0; i < count; i++)
		(void)sigaddset(set, taken[i]);
}

int seep_run_signals_begin(struct seep_run_signals *signals, pid_t target, struct seep_error *err)
{
	sigset_t set;

	main_target = target;
	set_of(TAKEN_COUNT, &set);
	/* If it was handed to us ignored, children would vanish without a status. */
	(void)signal(SIGCHLD, SIG_DFL);
	/* What is too large for a limit is an error where it is written, not our end. */
	(void)signal(SIGXFSZ, SIG_IGN);
	signals->fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (signals->fd < 0)
		return seep_fail_errno(err, errno, "cannot take over signals");
	(void)sigprocmask(SIG_BLOCK, &set, NULL);
	return 0;
}

static bool is_stopped(pid_t pid)
{
	struct seep_procfs_stat stat;

	return atomic_load_explicit(&traced_stop, memory_order_acquire) != GOES_ON ||
	       (seep_procfs_stat((uint32_t)pid, &stat) && stat.state == 'T');
}

/* Returns true if the signal asks to end. What is typed reaches the target by itself. */
static bool pass_on(const struct signalfd_siginfo *info, pid_t target)
{
	const int number = (int)info->ssi_signo;
	const bool can_be_typed = number == SIGINT || number == SIGQUIT;
	const bool ends = can_be_typed || number == SIGTERM || number == SIGHUP;
	bool passes = ends || number == SIGUSR1 || number == SIGUSR2;

	if (can_be_typed && info->ssi_code == SI_KERNEL)
		passes = false;
	if (target > 0 && (passes || (number == SIGCONT && is_stopped(target))))
		(void)kill(target, number);
	return ends;
}

bool seep_run_signals_pass_on(struct seep_run_signals *signals, pid_t target)
{
	struct signalfd_siginfo info;
	bool end = false;

	while (read(signals->fd, &info, sizeof(info)) == (ssize_t)sizeof(info))
		if (pass_on(&info, target))
			end = true;
	return end;
}

static bool has_terminal(void)
{
	for (int fd = 0; fd <= 2; fd++)
		if (tcgetpgrp(fd) >= 0)
			return true;
	return false;
}

static void stop_with(pid_t target)
{
	/* Without a terminal nobody waits for a prompt, and the other processes need us. */
	if (!has_terminal())
		return;
	(void)raise(SIGSTOP);
	if (is_stopped(target))
		(void)kill(target, SIGCONT);
}

void seep_run_signals_note_stop(pid_t child, bool stopped)
{
	if (child != main_target)
		return;
	atomic_store_explicit(&traced_stop, stopped ? HAS_STOPPED : GOES_ON, memory_order_release);
	if (stopped)
		(void)kill(getpid(), SIGCHLD);
}

static pid_t next_child(idtype_t which, pid_t pid, int options, int *ret_code)
{
	siginfo_t info = { 0 };

	if (waitid(which, (id_t)pid, &info, options | WNOHANG | __WNOTHREAD) < 0)
		return 0;
	*ret_code = info.si_code;
	return info.si_pid;
}

/*
 * Threads of ours may trace processes: those are theirs to wait for (__WNOTHREAD). But of a child
 * of ours the stops by a trace are shown to us too, whatever we ask for, as CLD_TRAPPED. They are
 * left alone, or that thread would not hear of them, and the other children are asked one by one.
 */
static pid_t next_of_all(int *ret_code)
{
	enum { LOOK = WSTOPPED | WEXITED | WNOWAIT };
	pid_t pid = next_child(P_ALL, 0, LOOK, ret_code);
	SEEP_FREED char *children = NULL;
	char *at, *end;

	if (pid <= 0 || *ret_code != CLD_TRAPPED)
		return pid;
	children = seep_procfs_children((uint32_t)getpid());
	pid = 0;
	for (at = children; at && pid == 0; at = end) {
		const pid_t child = (pid_t)strtol(at, &end, 10);

		if (end == at)
			break;
		pid = next_child(P_PID, child, LOOK, ret_code);
		if (*ret_code == CLD_TRAPPED)
			pid = 0;
	}
	return pid;
}

pid_t seep_run_signals_next_dead(pid_t target)
{
	int stop = HAS_STOPPED, code;
	pid_t pid;

	if (atomic_compare_exchange_strong(&traced_stop, &stop, STOP_SEEN))
		stop_with(target);
	while ((pid = next_of_all(&code)) > 0) {
		if (code != CLD_STOPPED)
			return pid;
		if (next_child(P_PID, pid, WSTOPPED, &code) == target && code == CLD_STOPPED)
			stop_with(target);
	}
	return 0;
}

void seep_run_signals_target_gone(struct seep_run_signals *signals)
{
	sigset_t set;

	/* The interrupt that ended the target has come here too. */
	(void)seep_run_signals_pass_on(signals, 0);
	set_of(JOB_CONTROL_COUNT, &set);
	(void)sigprocmask(SIG_UNBLOCK, &set, NULL);
}

void seep_run_signals_end(struct seep_run_signals *signals)
{
	sigset_t set;

	if (signals->fd < 0)
		return;
	/* What came in between has had its effect. */
	(void)seep_run_signals_pass_on(signals, 0);
	(void)close(signals->fd);
	signals->fd = -1;
	set_of(TAKEN_COUNT, &set);
	(void)sigprocmask(SIG_UNBLOCK, &set, NULL);
}
