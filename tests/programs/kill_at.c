// SPDX-License-Identifier: MIT
/*
 * kill_at NUMBER PID SIGNAL COMMAND...: run a command and kill it at the end of its ptrace() call of that
 * number, with SIGNAL for PID just before (0: none). Status: 0 when it was killed, 1 when it ended before.
 */
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

enum { THREADS_MAX = 4194304, SYSTEM_CALL = SIGTRAP | 0x80 };

static bool is_inside[THREADS_MAX]; /* a system call */

static bool ends_ptrace(pid_t tid)
{
	struct user_regs_struct registers;

	is_inside[tid] = !is_inside[tid];
	return !is_inside[tid] && ptrace(PTRACE_GETREGS, tid, NULL, &registers) == 0 &&
	       registers.orig_rax == SYS_ptrace;
}

int main(int argc, char **argv)
{
	long left = argc > 4 ? strtol(argv[1], NULL, 10) : 0;
	const long options = PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACECLONE | PTRACE_O_EXITKILL;
	pid_t command, tid;
	int status;

	if (left < 1) {
		(void)fprintf(stderr, "usage: kill_at NUMBER PID SIGNAL COMMAND...\n");
		return 2;
	}
	command = fork();
	if (command == 0) {
		(void)ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		(void)raise(SIGSTOP);
		(void)execv(argv[4], argv + 4);
		_exit(127);
	}
	if (waitpid(command, &status, 0) < 0 ||
	    ptrace(PTRACE_SETOPTIONS, command, NULL, options) < 0)
		return 2;
	for (tid = command; ptrace(PTRACE_SYSCALL, tid, NULL, 0) == 0 || tid != command;) {
		int signal;

		tid = waitpid(-1, &status, __WALL);
		if (tid == command && !WIFSTOPPED(status))
			return 1;
		if (!WIFSTOPPED(status))
			continue;
		signal = WSTOPSIG(status);
		if (signal == SYSTEM_CALL && ends_ptrace(tid) && --left == 0) {
			(void)kill((pid_t)strtol(argv[2], NULL, 10),
				   (int)strtol(argv[3], NULL, 10));
			(void)kill(command, SIGKILL);
			while (waitpid(-1, &status, __WALL) > 0)
				;
			return 0;
		}
	}
	return 2;
}
