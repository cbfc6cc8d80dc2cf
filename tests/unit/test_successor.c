/* SPDX-License-Identifier: MIT */
/* Which program a process became, as its path tells. */
#include "base/procfs.h"
#include "recorder/successor.h"
#include "unit.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* A process that runs a copy of sleep at @path until it is killed. */
static pid_t start_copy(const char *path)
{
	char command[128];
	char *now;
	pid_t pid;

	(void)snprintf(command, sizeof(command), "cp /bin/sleep %s", path);
	assert_int_equal(system(command), 0);
	pid = fork();
	if (pid == 0) {
		(void)execl(path, path, "1000", NULL);
		_exit(1);
	}
	do {
		now = seep_procfs_exe((uint32_t)pid);
		if (now && strcmp(now, path) == 0)
			break;
		free(now);
	} while (waitpid(pid, NULL, WNOHANG) == 0);
	free(now);
	return pid;
}

static bool is_caught(const char *before, pid_t pid)
{
	struct seep_successor successor = { 0 };
	bool caught = seep_successor_catch(&successor, before, (uint32_t)pid);

	seep_successor_done(&successor);
	return caught;
}

TEST(a_program_whose_file_was_removed_is_still_itself)
{
	char path[64];
	pid_t pid;
	bool other, removed;

	(void)snprintf(path, sizeof(path), "/tmp/seep-successor-%d", (int)getpid());
	pid = start_copy(path);
	other = is_caught("/bin/another", pid);
	(void)unlink(path);
	removed = is_caught(path, pid);
	(void)kill(pid, SIGKILL);
	(void)waitpid(pid, NULL, 0);
	assert_true(other);
	assert_false(removed);
}
