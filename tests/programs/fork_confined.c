/* SPDX-License-Identifier: MIT */
/*
 * fork_confined HOW: a forked child allocates 10 blocks, gives up rights, and allocates 3,000 more.
 *   setuid    becomes nobody
 *   chroot    has an empty root directory
 *   sandbox   is killed if it opens, makes, renames or resizes a file
 *   limit     may have no files
 */
#include <errno.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "seccomp_filter.h"
#include "truth.h"

TRUTH_SITE(allocate);

static const int deadly[] = { SYS_openat, SYS_mkdir, SYS_renameat2, SYS_ftruncate };

enum { COUNT = sizeof(deadly) / sizeof(*deadly), BEFORE = 10, AFTER = 3000, BYTES = 24 };

static int enter_sandbox(void)
{
	return set_filter(deadly, COUNT, SECCOMP_RET_KILL_PROCESS, SECCOMP_RET_ALLOW);
}

static SITE void allocate(int count)
{
	for (int i = 0; i < count; i++) {
		EXPECT(truth_hide_ptr(malloc(BYTES)) != NULL);
		truth_alloced(&site_allocate, BYTES);
	}
}

static void be_child(const char *how)
{
	const struct rlimit none = { 0, 0 };

	allocate(BEFORE);
	if (strcmp(how, "setuid") == 0)
		EXPECT(setuid(65534) == 0);
	else if (strcmp(how, "chroot") == 0)
		EXPECT(chroot("/var/empty") == 0 || chroot("/proc/self/fdinfo") == 0);
	else if (strcmp(how, "limit") == 0)
		EXPECT(setrlimit(RLIMIT_NOFILE, &none) == 0);
	else
		EXPECT(enter_sandbox() == 0);
	allocate(AFTER);
}

int main(int argc, char **argv)
{
	pid_t child;
	int status;

	EXPECT(argc == 2);
	EXPECT(truth_hide_ptr(malloc(1)) != NULL);
	child = fork();
	if (child == 0) {
		be_child(argv[1]);
		_exit(truth_failures != 0);
	}
	EXPECT(waitpid(child, &status, 0) == child && status == 0);
	return truth_failures != 0;
}
