/* SPDX-License-Identifier: MIT */
/*
 * Words of jemalloc's own that lead to blocks which it has given away. Each thread has, for each
 * size, a stack of addresses of free blocks; what is taken off it is not overwritten. And of each
 * piece of memory that it has divided it knows the address, which is that of the first block there.
 */
#ifndef SEEP_TARGET_JEMALLOC_H
#define SEEP_TARGET_JEMALLOC_H

#include "target/ranges.h"
#include "target/remote_memory.h"

#include <stdbool.h>

/*
 * Adds the stacks of the thread whose control block is at @control to @found. False: it has none.
 * The layout is that of jemalloc 5.3.
 */
bool seep_jemalloc_find(struct seep_memory *memory, uint64_t control, struct seep_ranges *found);

/*
 * Adds addresses of such pieces that lie in [@begin, @end), where no blocks are, to @found. @heap:
 * where blocks are; it is settled.
 */
void seep_jemalloc_find_pieces(struct seep_memory *memory, uint64_t begin, uint64_t end,
			       const struct seep_ranges *heap, struct seep_ranges *found);

#endif
