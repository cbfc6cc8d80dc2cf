/* SPDX-License-Identifier: MIT */
/*
 * How much memory the control groups of a process leave it. A ledger in /dev/shm is charged to
 * them, and a group without room is killed.
 *
 * The files are read by whoever asks: the library may use system calls only, and no stack to speak
 * of.
 */
#ifndef SEEP_CORE_CGROUP_H
#define SEEP_CORE_CGROUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Read at most @max - 1 bytes and end them by a zero. Returns the length, or < 0. */
typedef long core_read_file_fn(const char *path, char *buffer, size_t max);

struct core_cgroup_buffers {
	char path[4096 + 32]; /* a folder, and room for a file's name */
	char groups[8192];
	char text[8192];
};

/* The group that leaves least. */
struct core_cgroup {
	uint64_t limit_bytes;
	uint64_t room_bytes; /* of which the process may still take */
};

/**
 * core_cgroup_memory - the tightest limit from the group of a process up to the root
 * @process: as /proc names it: "self", or a pid
 * @root:    in front of /proc and /sys; "" but in tests
 *
 * Version 2 (memory.max and memory.high, whichever is lower) and version 1
 * (memory.limit_in_bytes, and memory.memsw.limit_in_bytes for memory and swap together), mounted
 * where every distribution has them. Cached file pages count as room, for the kernel takes them
 * back first; swap does not. In a container whose mount begins at its own group, that is the root.
 *
 * Returns: false when there is no limit, or none can be read; @ret_group is untouched then.
 */
bool core_cgroup_memory(core_read_file_fn *read, const char *root, const char *process,
			struct core_cgroup_buffers *buffers, struct core_cgroup *ret_group);

#endif
