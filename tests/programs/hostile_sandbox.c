/* SPDX-License-Identifier: MIT */
/*
 * Locks itself into a sandbox as servers that part with their privileges do: a system call that is
 * not on a short list kills the process. Then it allocates, under many stacks, and ends. Prints its
 * truth.
 */
#include "truth.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { ROUNDS = 3000, DEPTH = 40 };

TRUTH_SITE(in_the_sandbox);

static const unsigned allowed[] = {
	SYS_read,	SYS_write,	SYS_close,	   SYS_brk,	  SYS_mmap,
	SYS_munmap,	SYS_mremap,	SYS_madvise,	   SYS_futex,	  SYS_getpid,
	SYS_gettid,	SYS_getpgid,	SYS_clock_gettime, SYS_exit,	  SYS_rt_sigprocmask,
	SYS_newfstatat, SYS_exit_group, SYS_openat,	   SYS_getrandom,
};

enum { COUNT = sizeof(allowed) / sizeof(*allowed) };

static int enter(void)
{
	struct sock_filter filter[COUNT + 3];
	struct sock_fprog program = { COUNT + 3, filter };

	filter[0] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
						 offsetof(struct seccomp_data, nr));
	for (int i = 0; i < COUNT; i++)
		filter[1 + i] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, allowed[i],
							     (unsigned char)(COUNT - i), 0);
	filter[COUNT + 1] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
	filter[COUNT + 2] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
		return -1;
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

static SITE void *in_the_sandbox(size_t bytes)
{
	void *block = malloc(bytes);

	truth_alloced(&site_in_the_sandbox, bytes);
	return block;
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
