/* SPDX-License-Identifier: MIT */
/*
 * The memory of another process, read in pieces that are kept: for who looks at many places of it
 * again and again while it does not change.
 */
#ifndef SEEP_TARGET_REMOTE_MEMORY_H
#define SEEP_TARGET_REMOTE_MEMORY_H

#include "base/error.h"
#include "scan/scan.h"

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct seep_memory;

/*
 * @kept_bytes: how much of it is kept at most; what was read longest ago makes room. 0: nothing is,
 *              and seep_memory_read() is all that is used
 *
 * Reads by process_vm_readv(); where that is refused, from /proc/PID/mem, which also gives what
 * the process itself may not read.
 *
 * Returns: 0, or -SEEP_EREFUSED, -SEEP_ENOTFOUND, -SEEP_ESYS.
 */
SEEP_NODISCARD int seep_memory_open(pid_t pid, uint64_t kept_bytes, struct seep_memory **ret_memory,
				    struct seep_error *err);

/*
 * Read from /proc/PID/mem if it can be opened. Of a copy made by fork this is several times as
 * fast: the other way the kernel copies each page that is still shared before we may read it.
 */
void seep_memory_use_file(struct seep_memory *memory);

/*
 * Read [@begin, @end), whole pages that are there, though the process itself may not. Ascending. Elsewhere
 * the file is not asked: to read below a stack by it makes the stack grow.
 */
void seep_memory_force(struct seep_memory *memory, uint64_t begin, uint64_t end);

/* How much of it is kept from here on: never less than is already, nor more than open() was given. */
void seep_memory_keep(struct seep_memory *memory, uint64_t kept_bytes);

/* NULL is a no-op. */
void seep_memory_close(struct seep_memory *memory);

/* The functions that the marker reads and allocates by; what it takes lives until the close. */
struct scan_memory seep_memory_for_scan(struct seep_memory *memory);

/*
 * Give back what is kept, and the descriptor; what the marker took stays. Nothing more can be read,
 * and views that were given are invalid.
 */
void seep_memory_forget(struct seep_memory *memory);

/* Copy @bytes at @address, past the cache; false if not all can be read. */
bool seep_memory_read(struct seep_memory *memory, uint64_t address, void *to, size_t bytes);

/*
 * Fill in what a scan of process @pid, or of that thread's, may read and take: what the pages that
 * the process holds and the blocks that it can tell of need, and no more than we have room for.
 */
void seep_memory_bound(pid_t pid, struct scan_options *options);

enum { SEEP_MODULE_SEGMENTS_MAX = 64 };

/*
 * The program headers of the module whose ELF header is at @start, hostile input. Returns how many
 * it has; 0: there is none, or it is not 64-bit.
 * @ret_bias: what is added to its addresses; 0 where no segment is loaded
 */
size_t seep_memory_segments(struct seep_memory *memory, uint64_t start,
			    Elf64_Phdr ret_segments[SEEP_MODULE_SEGMENTS_MAX], uint64_t *ret_bias);

#endif
