/* SPDX-License-Identifier: MIT */
/* Filters on system calls (seccomp(2)) for programs that are tested under them. */
#ifndef SEEP_TESTS_SECCOMP_FILTER_H
#define SEEP_TESTS_SECCOMP_FILTER_H

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>

enum { FILTER_CALLS_MAX = 64 };

/*
 * From now on the calling thread and what it starts get the answer @listed (SECCOMP_RET_*) to the
 * system calls @calls, and @others to all others. Returns 0, or -1 with errno.
 */
static inline int set_filter(const int *calls, unsigned count, uint32_t listed, uint32_t others)
{
	struct sock_filter code[FILTER_CALLS_MAX + 3];
	struct sock_fprog program = { (unsigned short)(count + 3), code };

	if (count > FILTER_CALLS_MAX)
		return -1;
	code[0] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
					       offsetof(struct seccomp_data, nr));
	for (unsigned i = 0; i < count; i++)
		code[1 + i] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K,
							   (uint32_t)calls[i],
							   (unsigned char)(count - i), 0);
	code[count + 1] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, others);
	code[count + 2] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, listed);
	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
		       ? prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program)
		       : -1;
}

#endif
