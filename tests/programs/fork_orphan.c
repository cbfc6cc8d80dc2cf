/* SPDX-License-Identifier: MIT */
/*
 * fork_orphan WHOSE: a forked child makes 1,500 blocks and forks one that makes 10. When the first
 * has ended and its ledger is no longer in $SEEP_DIR, the orphan makes 7 more; or after two seconds,
 * since a recorder that met the orphan's ledger first keeps the other until the orphan's end. It is
 * then a child
 *   ours       of this program
 *   anothers   of whoever cares for orphans
 */
#include <dirent.h>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "truth.h"

enum { BYTES = 100, MANY = 1500, YOUNG = 10, LATER = 7, STEP_US = 2000, STEPS = 1000 };

TRUTH_SITE(allocate);

static SITE void allocate(unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		EXPECT(truth_hide_ptr(malloc(BYTES)) != NULL);
		truth_alloced(&site_allocate, BYTES);
	}
}

/* Without opendir(), which allocates. */
static int has_ledger(const char *folder, pid_t pid)
{
	static char entries[1 << 15] __attribute__((aligned(8)));
	int fd = open(folder, O_RDONLY | O_DIRECTORY);
	int found = 0;
	char part[32];
	long bytes;

	(void)snprintf(part, sizeof(part), ".%d.", (int)pid);
	while ((bytes = syscall(SYS_getdents64, fd, entries, sizeof(entries))) > 0)
		for (long at = 0; at < bytes;) {
			const struct dirent64 *entry = (const void *)(entries + at);

			found |= strstr(entry->d_name, part) != NULL;
			at += entry->d_reclen;
		}
	(void)close(fd);
	return found;
}

static void be_orphan(pid_t parent, int said)
{
	int steps = 0;

	allocate(YOUNG);
	EXPECT(write(said, "", 1) == 1);
	while (has_ledger(getenv("SEEP_DIR"), parent) && steps++ < STEPS)
		(void)usleep(STEP_US);
	allocate(LATER);
	_exit(truth_failures != 0);
}

static void be_parent(void)
{
	int pipes[2];
	char byte;

	allocate(MANY);
	EXPECT(pipe(pipes) == 0);
	if (fork() == 0)
		be_orphan(getppid(), pipes[1]);
	EXPECT(read(pipes[0], &byte, 1) == 1);
	_exit(truth_failures != 0);
}

int main(int argc, char **argv)
{
	int until_end[2];
	char byte;

	EXPECT(argc == 2 && truth_hide_ptr(malloc(1)) != NULL);
	if (strcmp(argv[1], "ours") == 0)
		EXPECT(prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0);
	EXPECT(pipe(until_end) == 0);
	if (fork() == 0) {
		(void)close(until_end[0]);
		be_parent();
	}
	(void)close(until_end[1]);
	EXPECT(read(until_end[0], &byte, 1) == 0);
	while (wait(NULL) > 0)
		;
	return truth_failures != 0;
}
