/* SPDX-License-Identifier: MIT */
/*
 * What /proc says about a process, read from outside. A pid alone names nothing for long: a process
 * is identified by pid and start time together.
 */
#ifndef SEEP_TARGET_PROCFS_H
#define SEEP_TARGET_PROCFS_H

#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>

struct seep_procfs_stat {
	char state; /* 'R', 'S', 'Z', ... */
	uint32_t ppid;
	uint32_t threads;
	uint64_t start_ticks; /* since boot, in units of sysconf(_SC_CLK_TCK) */
};

struct seep_procfs_memory {
	uint64_t rss_bytes;
	uint64_t peak_rss_bytes;
	uint64_t anon_rss_bytes; /* of the first, what no file is behind */
};

/* Returns: 0, -SEEP_ENOTFOUND (no such process), or -SEEP_ESYS. */
SEEP_NODISCARD int seep_procfs_stat(uint32_t pid, struct seep_procfs_stat *ret_stat,
				    struct seep_error *err);

/**
 * seep_procfs_memory - resident memory now and at its greatest
 *
 * A process that is ending has none any more: that is -SEEP_ENOTFOUND, not zeros.
 *
 * Returns: 0, -SEEP_ENOTFOUND, or -SEEP_ESYS.
 */
SEEP_NODISCARD int seep_procfs_memory(uint32_t pid, struct seep_procfs_memory *ret_memory,
				      struct seep_error *err);

/*
 * Whether this very process still runs. A zombie does not: its memory is gone. One with threads
 * left does: its first thread has ended before the others.
 */
bool seep_procfs_alive(uint32_t pid, uint64_t start_ticks);

/* The 16 bytes of the kernel's boot id; all zero when it cannot be read. */
void seep_procfs_boot_id(uint8_t ret_id[16]);

/* Inode of the PID namespace of this process; 0 unknown. */
uint64_t seep_procfs_pid_namespace(void);

#endif
