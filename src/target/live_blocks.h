/* SPDX-License-Identifier: MIT */
/* The live blocks of a process, read from its page map while it goes on: those of a moment. */
#ifndef SEEP_TARGET_LIVE_BLOCKS_H
#define SEEP_TARGET_LIVE_BLOCKS_H

#include "base/error.h"
#include "scan/scan.h"

#include <stdint.h>
#include <sys/types.h>

struct ledger_header;

struct seep_live_blocks {
	struct scan_block *items; /* by address; address, size and row */
	uint64_t count;
};

/**
 * seep_live_blocks_read - the blocks that two readings of the page map both have
 * @ret: set on success only; release with seep_live_blocks_done()
 *
 * What is allocated or freed meanwhile is left out. The process is not stopped.
 *
 * Returns: 0, the errors of seep_memory_open(), or -SEEP_ECORRUPT: its page map is damaged.
 */
SEEP_NODISCARD int seep_live_blocks_read(pid_t pid, const struct ledger_header *header,
					 struct seep_live_blocks *ret, struct seep_error *err);

/* Zeroed is a no-op. */
void seep_live_blocks_done(struct seep_live_blocks *blocks);

#endif
