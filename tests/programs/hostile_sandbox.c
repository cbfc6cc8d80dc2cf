/* SPDX-License-Identifier: MIT */
/*
 * Locks itself into a sandbox as servers that part with their privileges do: a system call that is
 * not on a short list kills the process. Then it allocates, under many stacks, and ends. Prints its
 * truth.
 */
#include "seccomp_filter.h"
#include "truth.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { ROUNDS = 3000, DEPTH = 40 };

TRUTH_MAKER(in_the_sandbox, malloc(bytes));

static const int allowed[] = {
	SYS_read,	SYS_write,	SYS_close,	   SYS_brk,	  SYS_mmap,
	SYS_munmap,	SYS_mremap,	SYS_madvise,	   SYS_futex,	  SYS_getpid,
	SYS_gettid,	SYS_getpgid,	SYS_clock_gettime, SYS_exit,	  SYS_rt_sigprocmask,
	SYS_newfstatat, SYS_exit_group, SYS_openat,	   SYS_getrandom,
};

enum { COUNT = sizeof(allowed) / sizeof(*allowed) };

static int enter(void)
{
	return set_filter(allowed, COUNT, SECCOMP_RET_ALLOW, SECCOMP_RET_KILL_PROCESS);
}

static SITE void *descend(int depth, size_t bytes)
{
	void *block = depth ? descend(depth - 1, bytes) : in_the_sandbox(bytes);

	__asm__ volatile("" ::: "memory");
	return block;
}

int main(void)
{
	void *blocks[ROUNDS];

	if (enter() != 0)
		return errno;
	for (size_t i = 0; i < ROUNDS; i++)
		blocks[i] = descend((int)(i % DEPTH), 1 + i * 37 % 9000);
	for (size_t i = 0; i < ROUNDS; i += 2) {
		free(blocks[i]);
		truth_freed(&site_in_the_sandbox, 1 + i * 37 % 9000);
	}
	truth_print();
	return 0;
}
