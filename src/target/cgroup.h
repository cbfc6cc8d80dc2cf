/* SPDX-License-Identifier: MIT */
/* How much memory the control group of a process may use, of either version of control groups. */
#ifndef SEEP_TARGET_CGROUP_H
#define SEEP_TARGET_CGROUP_H

#include <stdbool.h>
#include <stdint.h>

struct seep_cgroup_memory {
	uint64_t limit_bytes;
	uint64_t used_bytes; /* of the group that has this limit */
};

/**
 * seep_cgroup_memory - the tightest limit on the way from a process's group to the root
 * @root: "" for this system; a folder with proc/ and sys/fs/cgroup/ below it in tests
 *
 * Tightest is what leaves the least room.
 *
 * Returns: false when there is no limit, or none can be read.
 */
bool seep_cgroup_memory(const char *root, uint32_t pid, struct seep_cgroup_memory *ret_memory);

#endif
