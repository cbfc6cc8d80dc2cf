/* SPDX-License-Identifier: MIT */
/*
 * The memory that the process's control groups leave: a ledger in /dev/shm is charged to them, and a
 * group without room is killed.
 */
#ifndef SEEP_RUNTIME_CGROUP_H
#define SEEP_RUNTIME_CGROUP_H

#include <stdint.h>

/**
 * rt_cgroup_room - bytes that the group of this process, and each above it, may still take
 * @root: in front of /proc and /sys; "" but in tests
 *
 * Version 2 (memory.max, memory.high) and version 1 (memory.limit_in_bytes), mounted where every
 * distribution has them. Cached file pages count as room: the kernel takes them back first. Reads
 * files; for the start only, by one thread.
 *
 * Returns: the smallest; UINT64_MAX when there is no limit or none can be read.
 */
uint64_t rt_cgroup_room(const char *root);

#endif
