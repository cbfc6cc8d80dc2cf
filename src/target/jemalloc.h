/* SPDX-License-Identifier: MIT */
/*
 * Words of jemalloc's own that lead to blocks which it has given away. Each thread has, for each
 * size, a stack of addresses of free blocks; what is taken off it is not overwritten.
 */
#ifndef SEEP_TARGET_JEMALLOC_H
#define SEEP_TARGET_JEMALLOC_H

#include "target/ranges.h"
#include "target/remote_memory.h"

/* Adds the stacks of the thread whose control block is at @control to @found, if it has any. */
void seep_jemalloc_find(struct seep_memory *memory, uint64_t control, struct seep_ranges *found);

#endif
