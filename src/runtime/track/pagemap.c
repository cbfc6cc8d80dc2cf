/* SPDX-License-Identifier: MIT */
#include "runtime/track/pagemap.h"

#include "runtime/sys/sys.h"

#include <sys/mman.h>

rt_cell *_Atomic *rt_leaves;

/*
 * Blocks of 1 GiB and more. The address space holds at most 2^17 of them, so a table of twice
 * that never fills; its pages are touched only where such blocks exist.
 */
enum { BIG_BITS = 18, BIG_ENTRIES = 1 << BIG_BITS };

struct big {
	_Atomic uint64_t address; /* 0 free; 1 was used */
	_Atomic uint64_t size;
};

static struct big *_Atomic bigs;

bool rt_pagemap_start(void)
{
	rt_leaves = rt_mmap_sparse(sizeof(rt_cell *) * RT_LEAVES);
	return rt_leaves != NULL;
}

static rt_cell *leaf_make(uintptr_t leaf_index)
{
	size_t cells = (size_t)1 << (RT_LEAF_SHIFT - rt_global.granule_shift);
	size_t bytes = cells * sizeof(rt_cell) + RT_STEPS;
	rt_cell *expected = NULL;
	rt_cell *leaf = rt_mmap_sparse(bytes);

	if (!leaf) {
		rt_note_unseen(LEDGER_UNSEEN_PAGE_MAP);
		return NULL;
	}
	/* A huge page would cost 2 MiB for the cell of a single block in a sparse area. */
	(void)rt_syscall3(SYS_madvise, (long)leaf, (long)bytes, MADV_NOHUGEPAGE);
	if (atomic_compare_exchange_strong_explicit(&rt_leaves[leaf_index], &expected, leaf,
						    memory_order_acq_rel, memory_order_acquire))
		return leaf;
	(void)rt_syscall3(SYS_munmap, (long)leaf, (long)bytes, 0);
	return expected;
}

rt_cell *rt_cell_make(uintptr_t address)
{
	size_t step_bytes = sizeof(rt_cell) << (RT_STEP_SHIFT - rt_global.granule_shift);
	uintptr_t leaf_index = address >> RT_LEAF_SHIFT;
	_Atomic uint8_t *step;
	rt_cell *leaf;

	if (leaf_index >= RT_LEAVES)
		return NULL;
	leaf = atomic_load_explicit(&rt_leaves[leaf_index], memory_order_acquire);
	if (!leaf)
		leaf = leaf_make(leaf_index);
	if (!leaf)
		return NULL;
	step = rt_leaf_step(leaf, address, rt_global.granule_shift);
	if (!atomic_exchange_explicit(step, 1, memory_order_relaxed)) {
		/* Where the kernel cannot, the pages come by faults. */
		(void)rt_syscall3(SYS_madvise,
				  (long)rt_cell_find(address & ~((1ul << RT_STEP_SHIFT) - 1)),
				  (long)step_bytes, RT_MADV_POPULATE_WRITE);
		rt_add(&rt_global.state->private_bytes, step_bytes);
	}
	return rt_cell_find(address);
}

static struct big *big_table(void)
{
	struct big *table = atomic_load_explicit(&bigs, memory_order_acquire);
	struct big *expected = NULL;

	if (table)
		return table;
	table = rt_mmap_sparse(sizeof(*table) * BIG_ENTRIES);
	if (!table)
		return NULL;
	if (atomic_compare_exchange_strong_explicit(&bigs, &expected, table, memory_order_acq_rel,
						    memory_order_acquire))
		return table;
	(void)rt_syscall3(SYS_munmap, (long)table, sizeof(*table) * BIG_ENTRIES, 0);
	return expected;
}

static struct big *big_find(uintptr_t address)
{
	struct big *table = atomic_load_explicit(&bigs, memory_order_acquire);
	uint64_t place = core_hash_step(0, address);

	for (uint32_t i = 0; table && i < BIG_ENTRIES; i++) {
		struct big *big = &table[(place + i) & (BIG_ENTRIES - 1)];
		uint64_t seen = rt_load(&big->address);

		if (seen == address)
			return big;
		if (seen == 0)
			return NULL;
	}
	return NULL;
}

uint64_t rt_big_size_get(uintptr_t address)
{
	struct big *big = big_find(address);

	return big ? rt_load(&big->size) : 0;
}

bool rt_big_size_put(uintptr_t address, uint64_t size)
{
	struct big *big = big_find(address);
	struct big *table;
	uint64_t place = core_hash_step(0, address);

	if (big) {
		rt_store(&big->size, size);
		return true;
	}
	table = big_table();
	for (uint32_t i = 0; table && i < BIG_ENTRIES; i++) {
		uint64_t seen;

		big = &table[(place + i) & (BIG_ENTRIES - 1)];
		seen = rt_load(&big->address);
		if (seen > 1 || !atomic_compare_exchange_strong_explicit(
					&big->address, &seen, address, memory_order_relaxed,
					memory_order_relaxed))
			continue;
		rt_store(&big->size, size);
		return true;
	}
	return false;
}

void rt_big_size_drop(uintptr_t address)
{
	struct big *big = big_find(address);

	if (big)
		rt_store(&big->address, 1);
}
