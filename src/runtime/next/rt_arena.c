/* SPDX-License-Identifier: MIT */
#include "runtime/next/rt_arena.h"

#include "ledger/ledger_blocks.h"
#include "runtime/rt.h"

#include <string.h>

enum { ARENA_BYTES = 256 << 10, HEADER_BYTES = sizeof(struct ledger_early) };

/* In .bss: pages cost nothing unless used. */
static _Alignas(4096) unsigned char arena[ARENA_BYTES];
static _Atomic size_t used;
static _Atomic uint64_t count;

bool rt_arena_holds(const void *block)
{
	return (uintptr_t)block - (uintptr_t)arena < ARENA_BYTES;
}

uint64_t rt_arena_count(void)
{
	return rt_load(&count);
}

const void *rt_arena_start(void)
{
	return arena;
}

size_t rt_arena_used(void)
{
	return rt_load(&used);
}

static struct ledger_early *header_of(const void *block)
{
	return (struct ledger_early *)block - 1;
}

void *rt_arena_take(size_t size, size_t alignment)
{
	size_t before = rt_load(&used);
	struct ledger_early *header;
	size_t start;

	if (alignment < HEADER_BYTES)
		alignment = HEADER_BYTES;
	if (alignment > 4096 || alignment & (alignment - 1) || size > ARENA_BYTES)
		return NULL;
	do {
		start = (before + HEADER_BYTES + alignment - 1) & ~(alignment - 1);
		if (start + size > ARENA_BYTES)
			return NULL;
	} while (!atomic_compare_exchange_weak_explicit(
		&used, &before, start + size, memory_order_relaxed, memory_order_relaxed));
	header = header_of(arena + start);
	header->size = size;
	rt_store(&header->state, LEDGER_CELL_LIVE);
	rt_add(&count, 1);
	return arena + start;
}

size_t rt_arena_size(const void *block)
{
	return block && rt_arena_holds(block) ? header_of(block)->size : 0;
}

void rt_arena_free(void *block)
{
	if (block && rt_arena_holds(block))
		rt_store(&header_of(block)->state, LEDGER_CELL_FREED);
}

void *rt_arena_resize(void *block, size_t size)
{
	size_t old = rt_arena_size(block);
	void *moved = rt_arena_take(size, HEADER_BYTES);

	if (moved && block)
		memcpy(moved, block, old < size ? old : size);
	if (moved)
		rt_arena_free(block);
	return moved;
}
