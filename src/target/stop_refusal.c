/* SPDX-License-Identifier: MIT */
#include "target/stop_refusal.h"

#include "base/file.h"
#include "base/procfs.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	CAPABILITY_PTRACE = 19,
	ANCESTORS_MAX = 4096,
};

static void read_name(pid_t pid, char name[64])
{
	struct seep_procfs_stat stat;

	*name = '\0';
	if (seep_procfs_stat((uint32_t)pid, &stat))
		(void)snprintf(name, 64, "%s", stat.name);
}

/* Real, effective and saved: the kernel wants all of them to be our real ones. */
static bool is_other_user(const char *status)
{
	unsigned uids[3], gids[3];

	if (sscanf(seep_procfs_line(status, "\nUid:"), "%u %u %u", &uids[0], &uids[1], &uids[2]) !=
		    3 ||
	    sscanf(seep_procfs_line(status, "\nGid:"), "%u %u %u", &gids[0], &gids[1], &gids[2]) !=
		    3)
		return false;
	for (int i = 0; i < 3; i++)
		if (uids[i] != getuid() || gids[i] != getgid())
			return true;
	return false;
}

/* The files of a process that is not dumpable belong to root. */
static bool is_guarded(pid_t pid, const char *status)
{
	unsigned real, effective;
	struct stat st;

	return sscanf(seep_procfs_line(status, "\nUid:"), "%u %u", &real, &effective) == 2 &&
	       stat(seep_procfs_path(pid, "maps").text, &st) == 0 && st.st_uid != effective;
}

static bool is_descendant(pid_t pid)
{
	struct seep_procfs_stat stat;

	for (int i = 0; i < ANCESTORS_MAX && pid > 1; i++) {
		if (!seep_procfs_stat((uint32_t)pid, &stat))
			return false;
		pid = (pid_t)stat.ppid;
		if (pid == getpid())
			return true;
	}
	return false;
}

/* Who has the capability where it counts is shown every namespace. */
static bool is_hidden(pid_t pid)
{
	char name[64];

	return readlink(seep_procfs_path(pid, "ns/user").text, name, sizeof(name)) < 0 &&
	       errno == EACCES;
}

void seep_refusal_look(pid_t pid, struct seep_refusal *ret_refusal)
{
	SEEP_FREED char *text = seep_procfs_read((uint32_t)pid, "status", NULL);
	SEEP_FREED char *ours = seep_procfs_read(seep_procfs_self(), "status", NULL);
	uint64_t has, have;
	char yama[16];

	has = strtoull(seep_procfs_line(text, "\nCapPrm:"), NULL, 16);
	have = strtoull(seep_procfs_line(ours, "\nCapEff:"), NULL, 16);
	*ret_refusal = (struct seep_refusal){
		.pid = pid,
		.tracer = (pid_t)strtol(seep_procfs_line(text, "\nTracerPid:"), NULL, 10),
		.is_own = pid == getpid(),
		.has_proc = text,
		.is_kernels = text && !strstr(text, "\nVmSize:"),
		.is_filtered = seep_call_is_refused(SYS_ptrace),
		.may_trace_any = have >> CAPABILITY_PTRACE & 1,
		.descends = is_descendant(pid),
		.other_user = is_other_user(text),
		.is_guarded = is_guarded(pid, text),
		.more_capable = has & ~strtoull(seep_procfs_line(ours, "\nCapPrm:"), NULL, 16),
	};
	ret_refusal->is_beyond = ret_refusal->may_trace_any && is_hidden(pid);
	read_name(pid, ret_refusal->name);
	read_name(ret_refusal->tracer, ret_refusal->tracer_name);
	if (seep_file_read_start("/proc/sys/kernel/yama/ptrace_scope", yama, sizeof(yama)) > 0)
		ret_refusal->yama = atoi(yama);
}

/* The rest of the sentence; NULL: nothing explains it. */
static const char *reason(const struct seep_refusal *refusal)
{
	const bool bound = !refusal->may_trace_any;

	if (refusal->is_own)
		return "a process cannot trace itself";
	if (refusal->is_filtered)
		return "a filter on system calls (seccomp) that seep runs under refuses ptrace";
	if (!refusal->has_proc)
		return "/proc does not show it";
	if (refusal->is_kernels)
		return "it has no memory of its own: a thread of the kernel, or at its end";
	if (refusal->yama >= 3)
		return "kernel.yama.ptrace_scope is 3: nobody may trace until the next boot";
	if (refusal->is_beyond)
		return "the CAP_SYS_PTRACE of seep does not count there: it is in a user namespace "
		       "outside, or a security module stands in the way";
	if (bound && refusal->yama == 2)
		return "kernel.yama.ptrace_scope is 2: only root may trace";
	if (bound && refusal->other_user)
		return "it runs as another user, and tracing that needs CAP_SYS_PTRACE";
	if (bound && refusal->more_capable)
		return "it has capabilities that seep has not, and tracing that needs "
		       "CAP_SYS_PTRACE";
	if (bound && refusal->is_guarded)
		return "it is not dumpable (by prctl, or its program is set-user-ID or not "
		       "readable), and tracing that needs CAP_SYS_PTRACE";
	if (bound && refusal->yama == 1 && !refusal->descends)
		return "kernel.yama.ptrace_scope is 1: only descendants may be traced, or as root";
	return NULL;
}

int seep_refusal_say(const struct seep_refusal *refusal, int errno_value, struct seep_error *err)
{
	const char *why = reason(refusal);

	if (refusal->tracer && !refusal->is_own && !refusal->is_filtered)
		return seep_fail(err, SEEP_EREFUSED,
				 "process %d (%s) cannot be traced: %s (pid %d) traces it already",
				 refusal->pid, refusal->name, refusal->tracer_name,
				 refusal->tracer);
	if (why)
		return seep_fail(err, SEEP_EREFUSED, "process %d (%s) cannot be traced: %s",
				 refusal->pid, refusal->name, why);
	return seep_fail(err, SEEP_EREFUSED,
			 "process %d (%s) cannot be traced: the kernel says \"%s\"; a security "
			 "module may stand in the way",
			 refusal->pid, refusal->name, strerror(errno_value));
}

/*
 * To nobody's harm: of a process that is not there ptrace() says ESRCH; the others are to move
 * nothing.
 */
static bool is_answered(long number)
{
	if (number == SYS_ptrace)
		return syscall(number, PTRACE_CONT, 0, NULL, NULL) < 0 && errno == ESRCH;
	return syscall(number, getpid(), NULL, 0, NULL, 0, 0) == 0;
}

/* No signal tells of its end, and only a wait for clones finds it: nobody else waits for those. */
static bool is_answered_in_child(long number)
{
	const long child = syscall(SYS_clone, 0, NULL, NULL, NULL, 0);
	pid_t waited;
	int status;

	if (child == 0) {
		(void)prctl(PR_SET_DUMPABLE, 0); /* its core would be the user's to wonder at */
		_exit(is_answered(number) ? 0 : 1);
	}
	if (child < 0)
		return false;
	do
		waited = waitpid((pid_t)child, &status, __WCLONE);
	while (waited < 0 && errno == EINTR);
	return waited > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

bool seep_call_is_refused(long number)
{
	struct seep_procfs_status status;

	return seep_procfs_status((uint32_t)getpid(), &status) && status.seccomp &&
	       !is_answered_in_child(number);
}
