/* SPDX-License-Identifier: MIT */
/*
 * A program that confines itself after its start, as servers do, and goes on allocating: a seccomp
 * filter that answers with an error, or one that kills, root given up, another root directory,
 * namespaces of its own, a daemon's double fork. What it allocates before and after is its truth.
 */
#define _GNU_SOURCE
#include <grp.h>
#include <sched.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "seccomp_filter.h"
#include "truth.h"

enum { ROUNDS = 2000, NOBODY = 65534 };

TRUTH_SITE(before);
TRUTH_SITE(after);

static SITE void before(int i)
{
	void *volatile block = malloc((size_t)i + 1);

	truth_alloced(&site_before, (size_t)i + 1);
	if (i % 4 == 0)
		return;
	free(block);
	truth_freed(&site_before, (size_t)i + 1);
}

static SITE void after(int i)
{
	void *volatile block = malloc((size_t)i * 40 + 1);

	truth_alloced(&site_after, (size_t)i * 40 + 1);
	if (i % 4 == 0)
		return;
	free(block);
	truth_freed(&site_after, (size_t)i * 40 + 1);
}

/* All that is not listed is answered with @otherwise. The list is what malloc and seep need. */
static void filter(uint32_t otherwise)
{
	static const int allowed[] = {
		SYS_brk,
		SYS_mmap,
		SYS_munmap,
		SYS_mremap,
		SYS_madvise,
		SYS_futex,
		SYS_getpid,
		SYS_gettid,
		SYS_tgkill,
		SYS_clock_gettime,
		SYS_sched_yield,
		SYS_getcwd,
		SYS_write,
		SYS_openat,
		SYS_close,
		SYS_exit_group,
		SYS_process_vm_readv,
		SYS_exit,
	};

	EXPECT(set_filter(allowed, sizeof(allowed) / sizeof(*allowed), SECCOMP_RET_ALLOW,
			  otherwise) == 0);
}

static void give_up_root(void)
{
	EXPECT(setgroups(0, NULL) == 0);
	EXPECT(setgid(NOBODY) == 0);
	EXPECT(setuid(NOBODY) == 0);
}

/* Twice, as daemon(3) does and once more; the last child is what goes on. */
static void become_daemon(void)
{
	for (int i = 0; i < 2; i++) {
		pid_t child = fork();

		if (child != 0)
			_exit(child < 0);
		if (i == 0)
			(void)setsid();
	}
	truth_reset();
}

static void confine(const char *way)
{
	if (strcmp(way, "errno") == 0)
		filter(SECCOMP_RET_ERRNO | EPERM);
	else if (strcmp(way, "kill") == 0)
		filter(SECCOMP_RET_KILL_PROCESS);
	else if (strcmp(way, "user") == 0)
		give_up_root();
	else if (strcmp(way, "chroot") == 0)
		EXPECT(chroot("/proc") == 0);
	else if (strcmp(way, "namespaces") == 0)
		EXPECT(unshare(CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS) == 0);
	else if (strcmp(way, "daemon") == 0)
		become_daemon();
	else
		EXPECT(strcmp(way, "not") == 0);
}

int main(int argc, char **argv)
{
	for (int i = 0; i < ROUNDS; i++)
		before(i);
	confine(argc > 1 ? argv[1] : "");
	for (int i = 0; i < ROUNDS; i++)
		after(i);
	truth_print();
	_exit(truth_failures != 0);
}
