/* SPDX-License-Identifier: MIT */
/*
 * end_confined HOW return|_exit|exit|thread: allocates, then confines itself, allocates from a new
 * place what it loses, and ends so, with status 5. What else it does than it may kills it.
 *   filter                    it may do nothing but write and end, by a filter
 *   strict, prctl, raw-prctl  it may only read, write and end its thread; in three ways
 *   tsc, raw-tsc              it may not read the processor's clock
 */
#include <alloca.h>
#include <linux/seccomp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "seccomp_filter.h"

static int confine(const char *how)
{
	static const int calls[] = { SYS_write, SYS_exit_group };

	if (strcmp(how, "filter") == 0)
		return set_filter(calls, 2, SECCOMP_RET_ALLOW, SECCOMP_RET_KILL_PROCESS);
	if (strcmp(how, "tsc") == 0)
		return prctl(PR_SET_TSC, PR_TSC_SIGSEGV);
	if (strcmp(how, "raw-tsc") == 0)
		return (int)syscall(SYS_prctl, PR_SET_TSC, PR_TSC_SIGSEGV);
	if (strcmp(how, "raw-prctl") == 0)
		return (int)syscall(SYS_prctl, PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
	if (strcmp(how, "prctl") == 0)
		return prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
	return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_STRICT, 0, NULL);
}

/* In the page of the stack below that of all before. */
static __attribute__((noinline)) void lose(void)
{
	const size_t in_page = (uintptr_t)__builtin_frame_address(0) % 4096;
	void *volatile block = alloca(in_page + 64);

	block = malloc(1000);
	block = NULL;
	(void)block;
}

int main(int argc, char **argv)
{
	void *volatile block = malloc(100);

	free(block);
	if (argc < 3 || confine(argv[1]) != 0)
		return 2;
	lose();
	if (write(1, "done\n", 5) != 5)
		return 3;
	if (strcmp(argv[2], "_exit") == 0)
		_exit(5);
	if (strcmp(argv[2], "exit") == 0)
		exit(5);
	if (strcmp(argv[2], "thread") == 0)
		(void)syscall(SYS_exit, 5);
	return 5;
}
