/* SPDX-License-Identifier: MIT */
/*
 * The page map: from the address of a block to its row, size, family and state. Its layout is
 * src/ledger/ledger_blocks.h; leaves are mapped on first touch. A live block is owned by one thread
 * at a time, so its cell needs no lock. Private memory: a forked child keeps a consistent copy.
 */
#ifndef SEEP_RUNTIME_PAGEMAP_H
#define SEEP_RUNTIME_PAGEMAP_H

#include "ledger/ledger_blocks.h"
#include "runtime/rt.h"

typedef _Atomic uint64_t rt_cell;

extern RT_HIDDEN rt_cell *_Atomic *rt_leaves;

/* Marks stand above the flags: where rt_cell_value() takes flags, these may be among them. */
enum { RT_CELL_MARKS_SHIFT = LEDGER_CELL_MARKS_SHIFT - LEDGER_CELL_FLAGS_SHIFT };
#define RT_CELL_IGNORED ((uint32_t)LEDGER_CELL_IGNORED << RT_CELL_MARKS_SHIFT)
#define RT_CELL_TAKEN (1u << (LEDGER_CELL_TAKEN_SHIFT - LEDGER_CELL_FLAGS_SHIFT))

static inline uint32_t rt_cell_flags(uint64_t cell)
{
	return ledger_cell_flags(cell) | ledger_cell_marks(cell) << RT_CELL_MARKS_SHIFT |
	       ((uint32_t)(cell >> LEDGER_CELL_FLAGS_SHIFT) & RT_CELL_TAKEN);
}

RT_INLINE rt_cell *rt_leaf_find(uintptr_t address)
{
	uintptr_t leaf_index = address >> LEDGER_LEAF_SHIFT;

	if (RT_UNLIKELY(leaf_index >= LEDGER_LEAVES))
		return NULL;
	return atomic_load_explicit(&rt_leaves[leaf_index], memory_order_acquire);
}

RT_INLINE size_t rt_leaf_index(uintptr_t address, unsigned granule_shift)
{
	return (address & ((1u << LEDGER_LEAF_SHIFT) - 1)) >> granule_shift;
}

/* The cell of a small block around @address, NULL where no block was ever recorded. */
RT_INLINE rt_cell *rt_cell_seek(uintptr_t address, unsigned granule_shift)
{
	rt_cell *leaf = rt_leaf_find(address);

	return RT_LIKELY(leaf != NULL) ? &leaf[rt_leaf_index(address, granule_shift)] : NULL;
}

/*
 * A leaf's pages are made real before they are first written, several at once where their
 * neighbours are real: one system call instead of several faults, each of which would be two,
 * since the cell is read first and the kernel then maps a page of zeros.
 */
RT_INLINE _Atomic uint8_t *rt_leaf_real(rt_cell *leaf, unsigned granule_shift)
{
	return (_Atomic uint8_t *)leaf + ledger_leaf_pages(granule_shift) * LEDGER_PAGE_BYTES;
}

/* The cell of a small block around @address if its page is real; else NULL. */
RT_INLINE rt_cell *rt_cell_real(uintptr_t address, unsigned granule_shift)
{
	rt_cell *leaf = rt_leaf_find(address);
	size_t cell = rt_leaf_index(address, granule_shift);

	if (RT_UNLIKELY(!leaf) || RT_UNLIKELY(!rt_load(rt_leaf_real(leaf, granule_shift) +
						       cell * sizeof(rt_cell) / LEDGER_PAGE_BYTES)))
		return NULL;
	return &leaf[cell];
}

/* @field: a small block's size, a large one's offset. */
RT_INLINE uint64_t rt_cell_value(uintptr_t address, uint32_t row, uint64_t field, uint32_t flags)
{
	return (uint64_t)row | (uint64_t)(address >> 4 & 1) << LEDGER_CELL_HALF_SHIFT |
	       (uint64_t)LEDGER_CELL_LIVE << LEDGER_CELL_STATE_SHIFT |
	       (uint64_t)flags << LEDGER_CELL_FLAGS_SHIFT | field << LEDGER_CELL_SIZE_SHIFT;
}

/* A live block is none any more; the rest of its cell stays. */
RT_INLINE void rt_cell_free(rt_cell *cell)
{
	rt_bump(cell, (uint64_t)(LEDGER_CELL_FREED - LEDGER_CELL_LIVE) << LEDGER_CELL_STATE_SHIFT);
}

/* A live block; value = 0: there is none. */
struct rt_block {
	rt_cell *cell;
	uint64_t value;
	uint64_t size;
	uintptr_t address;
};

/* The large one that begins exactly at @address. */
RT_APART struct rt_block rt_large_at(uintptr_t address);

/* The one of any size; a small one's cell is looked at first. */
RT_INLINE struct rt_block rt_block_at(uintptr_t address, unsigned granule_shift)
{
	rt_cell *cell = rt_cell_seek(address, granule_shift);
	uint64_t value = RT_LIKELY(cell != NULL) ? rt_load(cell) : 0;

	if (RT_UNLIKELY(ledger_cell_state(value) != LEDGER_CELL_LIVE) ||
	    RT_UNLIKELY(ledger_cell_begin(value, address) != address))
		return rt_large_at(address);
	return (struct rt_block){ cell, value, ledger_cell_size(value), address };
}

RT_INLINE struct ledger_large *rt_leaf_large(rt_cell *leaf, uintptr_t address,
					     unsigned granule_shift)
{
	struct ledger_large *large =
		(struct ledger_large *)(leaf + ledger_leaf_cells(granule_shift));

	return &large[rt_leaf_index(address, LEDGER_LARGE_SHIFT)];
}

/* Could a live block begin there? No more than two cells are looked at. */
RT_INLINE bool rt_block_may_be(uintptr_t address, unsigned granule_shift)
{
	rt_cell *leaf = rt_leaf_find(address);

	return leaf &&
	       (ledger_cell_state(rt_load(&leaf[rt_leaf_index(address, granule_shift)])) ==
			LEDGER_CELL_LIVE ||
		ledger_cell_state(rt_load(&rt_leaf_large(leaf, address, granule_shift)->cell)) ==
			LEDGER_CELL_LIVE);
}

RT_APART rt_cell *rt_large_ready(uintptr_t address, uint64_t size, uint64_t *ret_field);

/*
 * Where to note a live block of @size; *@ret_field is what its cell says of the size. NULL: the
 * page is not real, or a block is in the way whose free was not seen.
 */
RT_INLINE rt_cell *rt_block_ready(uintptr_t address, uint64_t size, unsigned granule_shift,
				  uint64_t *ret_field)
{
	rt_cell *cell;

	if (RT_UNLIKELY(size >= LEDGER_LARGE_BYTES))
		return rt_large_ready(address, size, ret_field);
	*ret_field = size;
	cell = rt_cell_real(address, granule_shift);
	if (RT_UNLIKELY(!cell) || RT_UNLIKELY(ledger_cell_state(rt_load(cell)) == LEDGER_CELL_LIVE))
		return NULL;
	return cell;
}

/*
 * Take a live block out of the map that cannot live where a new one of @size is now: its free was
 * not seen. False: there is none (any more).
 */
RT_COLD bool rt_block_take_stale(uintptr_t address, uint64_t size, struct rt_block *ret_block);

/* Note a live block, over what stands there. Without memory, or at a strange address, it is not. */
RT_COLD void rt_block_note(uintptr_t address, uint32_t row, uint64_t size, uint32_t flags);

/* The live block that @address lies in; the first byte is in one of no bytes too. */
RT_COLD struct rt_block rt_block_around(uintptr_t address);

/* The block that was freed at @address, and no other was noted there since; value = 0: none. */
RT_COLD struct rt_block rt_block_freed(uintptr_t address);

/* Add to a live block's enum ledger_cell_marks. False: it is not the same any more. */
RT_COLD bool rt_block_mark(const struct rt_block *block, uint32_t marks);

/*
 * The block that begins at @address, if one is noted there, was the malloc of the C++ library's operator:
 * it is of that one's family.
 */
RT_COLD void rt_block_become(uintptr_t address, enum ledger_family family);

/* Could a block of a pool be noted there? Not where the cell is another block's, unless a pool's that was there. */
RT_COLD bool rt_block_has_room(uintptr_t address, uint64_t size);

/* A live block is smaller from now on, and no class tells its usable size. */
RT_COLD void rt_block_shrink(const struct rt_block *block, uint64_t size);

/* Forget the block noted as beginning at @address, small or large, also a freed one. */
RT_COLD void rt_block_unknow(uintptr_t address);

/* Call @each for all live blocks, by address, those of 4 KB and more of a leaf after the others. */
typedef void rt_block_function(const struct rt_block *block, void *user);
RT_COLD void rt_blocks_each(rt_block_function *each, void *user);

/* Map the first level; false without memory. */
bool rt_pagemap_start(void);

/* Nothing is noted any more, and its memory goes back. It may be looked at meanwhile. */
void rt_pagemap_empty(void);

/* Give it back, with nothing noted yet: where address space is scarce the program needs it. */
void rt_pagemap_stop(void);

#endif
