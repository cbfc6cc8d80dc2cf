/* SPDX-License-Identifier: MIT */
#include "target/refused_call.h"

#include "base/procfs.h"

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

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
