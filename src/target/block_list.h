/* SPDX-License-Identifier: MIT */
/* The live blocks of a process, read from its page map while it goes on: those of a moment. */
#ifndef SEEP_TARGET_BLOCK_LIST_H
#define SEEP_TARGET_BLOCK_LIST_H

#include "base/error.h"
#include "scan/scan.h"

#include <stdint.h>
#include <sys/types.h>

struct ledger_header;
struct seep_memory;

struct seep_block_list {
	struct scan_block *items; /* by address; address, size and row */
	uint64_t count;
};

/**
 * seep_block_list_read - the blocks that two readings of the page map both have
 * @ret: set on success only; release with seep_block_list_done()
 *
 * What is allocated or freed meanwhile is left out. The process is not stopped.
 *
 * Returns: 0, the errors of seep_memory_open(), or -SEEP_ECORRUPT: its page map is damaged.
 */
SEEP_NODISCARD int seep_block_list_read(pid_t pid, const struct ledger_header *header,
					struct seep_block_list *ret, struct seep_error *err);

/*
 * One reading of it: the scan's blocks, which live as long as @memory. @lists: arrays of as much
 * memory that the caller needs. Errors as above.
 */
SEEP_NODISCARD int seep_block_list_scan(pid_t pid, const struct ledger_header *header,
					struct seep_memory *memory, unsigned lists,
					struct scan *ret, struct seep_error *err);

/* Zeroed is a no-op. */
void seep_block_list_done(struct seep_block_list *blocks);

#endif
