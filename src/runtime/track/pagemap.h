/* SPDX-License-Identifier: MIT */
/*
 * The page map: from the address of a block to its row, size, kind and state. Two levels by
 * address; leaves are mapped on first touch. A live block is owned by one thread at a time, so
 * its cell needs no lock. Private memory: a forked child keeps a consistent copy.
 *
 * One cell stands for a granule: 32 bytes of address space under glibc, whose smallest chunk is
 * 32 bytes, so that two blocks never share a cell; 16 bytes under other allocators.
 */
#ifndef SEEP_RUNTIME_PAGEMAP_H
#define SEEP_RUNTIME_PAGEMAP_H

#include "runtime/rt.h"

enum rt_cell_state { RT_CELL_EMPTY = 0, RT_CELL_LIVE = 1, RT_CELL_FREED = 2 };

/* Bits of a cell, from the lowest: row 25, size 30, half 1, state 2, kind 3, foreign 1, classed 1,
 * spare 1. */
enum {
	RT_CELL_SIZE_SHIFT = 25,
	RT_CELL_HALF_SHIFT = 55,
	RT_CELL_STATE_SHIFT = 56,
	RT_CELL_KIND_SHIFT = 58,
	RT_CELL_FOREIGN_SHIFT = 61,	  /* no chunk of the next malloc: no usable size */
	RT_CELL_CLASSED_SHIFT = 62,	  /* see RT_SORT_CLASSED */
	RT_CELL_SIZE_BIG = (1 << 30) - 1, /* the size is in the side table */
};

enum {
	RT_LEAF_SHIFT = 26, /* 64 MiB of address space per leaf */
	RT_ADDRESS_BITS = 47,
	RT_LEAVES = 1 << (RT_ADDRESS_BITS - RT_LEAF_SHIFT),
	RT_STEP_SHIFT = 16, /* address space whose cells become real at once: 64 KiB */
	RT_STEPS = 1 << (RT_LEAF_SHIFT - RT_STEP_SHIFT),
	RT_GRANULE_SHIFT_GLIBC = 5,
	RT_GRANULE_SHIFT_OTHER = 4,
};

typedef _Atomic uint64_t rt_cell;

extern rt_cell *_Atomic *rt_leaves;

static inline uint32_t rt_cell_row(uint64_t cell)
{
	return (uint32_t)cell & (LEDGER_ROW_ID_END - 1);
}

static inline enum rt_cell_state rt_cell_get_state(uint64_t cell)
{
	return (enum rt_cell_state)(cell >> RT_CELL_STATE_SHIFT & 3);
}

/* A live cell's value after its block was freed. */
static inline uint64_t rt_cell_freed(uint64_t live)
{
	return live ^ (uint64_t)(RT_CELL_LIVE ^ RT_CELL_FREED) << RT_CELL_STATE_SHIFT;
}

RT_INLINE rt_cell *rt_leaf_find(uintptr_t address)
{
	uintptr_t leaf_index = address >> RT_LEAF_SHIFT;

	if (RT_UNLIKELY(leaf_index >= RT_LEAVES))
		return NULL;
	return atomic_load_explicit(&rt_leaves[leaf_index], memory_order_acquire);
}

RT_INLINE rt_cell *rt_leaf_cell(rt_cell *leaf, uintptr_t address, unsigned granule_shift)
{
	return &leaf[(address & ((1u << RT_LEAF_SHIFT) - 1)) >> granule_shift];
}

/* The cell around @address, NULL where no block was ever recorded. */
RT_INLINE rt_cell *rt_cell_seek(uintptr_t address, unsigned granule_shift)
{
	rt_cell *leaf = rt_leaf_find(address);

	return RT_LIKELY(leaf != NULL) ? rt_leaf_cell(leaf, address, granule_shift) : NULL;
}

RT_INLINE rt_cell *rt_cell_find(uintptr_t address)
{
	return rt_cell_seek(address, rt_global.granule_shift);
}

/*
 * A leaf's pages become real a step at a time, before they are first written: one system call
 * instead of several faults, each of which would be two, since the cell is read first and the
 * kernel then maps a page of zeros. The bytes that remember it follow the leaf's cells.
 */
RT_INLINE _Atomic uint8_t *rt_leaf_step(rt_cell *leaf, uintptr_t address, unsigned granule_shift)
{
	_Atomic uint8_t *steps =
		(_Atomic uint8_t *)(leaf + ((1u << RT_LEAF_SHIFT) >> granule_shift));

	return &steps[(address & ((1u << RT_LEAF_SHIFT) - 1)) >> RT_STEP_SHIFT];
}

/* The cell around @address if its page is real; else NULL. */
RT_INLINE rt_cell *rt_cell_real(uintptr_t address, unsigned granule_shift)
{
	rt_cell *leaf = rt_leaf_find(address);

	if (RT_UNLIKELY(!leaf) || RT_UNLIKELY(!rt_load(rt_leaf_step(leaf, address, granule_shift))))
		return NULL;
	return rt_leaf_cell(leaf, address, granule_shift);
}

RT_COLD rt_cell *rt_cell_make(uintptr_t address);

/*
 * The same to write to, mapping the leaf and its pages if need be; NULL without memory or for a
 * strange address.
 */
RT_INLINE rt_cell *rt_cell_writable(uintptr_t address)
{
	rt_cell *cell = rt_cell_real(address, rt_global.granule_shift);

	return RT_LIKELY(cell != NULL) ? cell : rt_cell_make(address);
}

/* A live cell whose block begins exactly at @address; 0 otherwise. @cell may be NULL. */
RT_INLINE uint64_t rt_cell_live_at(rt_cell *cell, uintptr_t address)
{
	uint64_t value;
	uint64_t expected = (uint64_t)RT_CELL_LIVE << 1 | (address >> 4 & 1);

	if (RT_UNLIKELY(!cell))
		return 0;
	value = rt_load(cell);
	/* State and half in one compare; a block's address is a multiple of 16. */
	if (RT_UNLIKELY((value >> RT_CELL_HALF_SHIFT & 7) != expected || address & 15))
		return 0;
	return value;
}

/* The same for a cell's value, and the block has a chunk of the next malloc. */
RT_INLINE bool rt_cell_is_plain(uint64_t value, uintptr_t address)
{
	const uint64_t looked_at = 7ull << RT_CELL_HALF_SHIFT | 1ull << RT_CELL_FOREIGN_SHIFT;
	const uint64_t live = (uint64_t)RT_CELL_LIVE << RT_CELL_STATE_SHIFT;

	return (value & looked_at) == (live | (address >> 4 & 1) << RT_CELL_HALF_SHIFT) &&
	       !(address & 15);
}

RT_INLINE uint64_t rt_cell_value(uintptr_t address, uint32_t row, uint64_t size, uint32_t kind)
{
	return (uint64_t)row | size << RT_CELL_SIZE_SHIFT |
	       (uint64_t)(address >> 4 & 1) << RT_CELL_HALF_SHIFT |
	       (uint64_t)RT_CELL_LIVE << RT_CELL_STATE_SHIFT | (uint64_t)kind << RT_CELL_KIND_SHIFT;
}

/* The size of the block at @address from its cell's value. */
RT_COLD uint64_t rt_big_size_get(uintptr_t address);
/* Enter it before the cell is written; false when there is no room. */
RT_COLD bool rt_big_size_put(uintptr_t address, uint64_t size);
RT_COLD void rt_big_size_drop(uintptr_t address);

RT_INLINE uint64_t rt_cell_size(uint64_t cell, uintptr_t address)
{
	uint64_t size = cell >> RT_CELL_SIZE_SHIFT & RT_CELL_SIZE_BIG;

	if (RT_UNLIKELY(size == RT_CELL_SIZE_BIG))
		return rt_big_size_get(address);
	return size;
}

/* Map the first level; false without memory. */
bool rt_pagemap_start(void);

#endif
