/* SPDX-License-Identifier: MIT */
#include "recorder/perf_map_file.h"

#include "base/procfs.h"

#include <fcntl.h>
#include <inttypes.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { PATH_BYTES = 64 };

/* Links lead nowhere but to places below the process's root, as they do for itself. */
static int open_below(int root, const char *path)
{
	const struct open_how how = {
		.flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC,
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS,
	};

	return (int)syscall(SYS_openat2, root, path, &how, sizeof(how));
}

/* Who a process is now; @uid when that cannot be told. */
static uint32_t present_uid(uint32_t pid, uint32_t uid)
{
	struct stat st;

	return stat(seep_procfs_path((pid_t)pid, "").text, &st) == 0 ? st.st_uid : uid;
}

int seep_perf_map_file_open(uint32_t pid, uint32_t uid, uint32_t here)
{
	char path[PATH_BYTES];
	uint32_t now = here ? present_uid(here, uid) : uid;
	struct stat st;
	int root, fd;

	root = open(here ? seep_procfs_path((pid_t)here, "root").text : "/",
		    O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root < 0)
		return -1;
	(void)snprintf(path, sizeof(path), "tmp/perf-%" PRIu32 ".map", pid);
	fd = open_below(root, path);
	(void)close(root);
	if (fd < 0)
		return -1;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && (st.st_uid == uid || st.st_uid == now))
		return fd;
	(void)close(fd);
	return -1;
}
