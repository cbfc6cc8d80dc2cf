/* SPDX-License-Identifier: MIT */
/*
 * The memory of the allocator: chunks, arenas, what they are kept in. Pointers in it are in blocks,
 * or left over from blocks that were freed. And libseep.so's memory, which is full of addresses.
 */
#ifndef SEEP_TARGET_ROOTS_HEAP_H
#define SEEP_TARGET_ROOTS_HEAP_H

#include "target/roots_parts.h"

/* Adds both to work->heap, which is settled then. After seep_roots_find_modules(). */
void seep_roots_find_heap(struct seep_roots_work *work);

#endif
