/* SPDX-License-Identifier: MIT */
#include "recorder/perf_map_file.h"

#include "base/file.h"
#include "base/procfs.h"
#include "target/served_files.h"

#include <fcntl.h>
#include <inttypes.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATH_BYTES = 64 };

/* Who a process is now; @uid when that cannot be told. */
static uint32_t present_uid(uint32_t pid, uint32_t uid)
{
	struct stat st;

	return stat(seep_procfs_path((pid_t)pid, "").text, &st) == 0 ? st.st_uid : uid;
}

int seep_perf_map_file_open(uint32_t pid, uint32_t uid, uint32_t here)
{
	const uint32_t now = here ? present_uid(here, uid) : uid;
	/* Into a file system that another user serves we do not go, not even to look for a name. */
	const bool is_others = here && now != geteuid();
	SEEP_CLOSED const int root = open(here ? seep_procfs_path((pid_t)here, "root").text : "/",
					  O_PATH | O_DIRECTORY | O_CLOEXEC);
	SEEP_CLOSED int folder = -1, file = -1;
	char path[PATH_BYTES];
	struct stat st;

	if (root >= 0 && !(is_others && seep_served_is(root, (pid_t)here)))
		folder = seep_procfs_open_below(root, "tmp", O_PATH,
						is_others ? RESOLVE_NO_SYMLINKS : 0);
	(void)snprintf(path, sizeof(path), "perf-%" PRIu32 ".map", pid);
	if (folder >= 0 && !(is_others && seep_served_is(folder, (pid_t)here)))
		file = seep_procfs_open_below(folder, path, O_PATH,
					      RESOLVE_NO_XDEV | RESOLVE_NO_SYMLINKS);
	if (file < 0 || fstat(file, &st) < 0 || !S_ISREG(st.st_mode) ||
	    (st.st_uid != uid && st.st_uid != now))
		return -1;
	return open(seep_procfs_fd(file).text, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
}
