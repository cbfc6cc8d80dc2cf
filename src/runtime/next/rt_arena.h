/* SPDX-License-Identifier: MIT */
/*
 * Memory for calls that come while the next allocator is still being searched for. Blocks are
 * never reused; every later free, realloc and usable_size recognises them by address.
 */
#ifndef SEEP_RUNTIME_ARENA_H
#define SEEP_RUNTIME_ARENA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* @alignment: a power of two up to 4096. Zeroed. NULL when the arena is full. */
void *rt_arena_take(size_t size, size_t alignment);
void *rt_arena_resize(void *block, size_t size);
size_t rt_arena_size(const void *block);
bool rt_arena_holds(const void *block);

/* @block, if it is one of ours, is not used any more; whoever reads our memory is to know. */
void rt_arena_free(void *block);

/* Where the blocks lie, as src/ledger/ledger_blocks.h describes. */
const void *rt_arena_start(void);
size_t rt_arena_used(void);

/* How many blocks were taken. */
uint64_t rt_arena_count(void);

#endif
