/* SPDX-License-Identifier: MIT */
#include "runtime/track/pagemap.h"

#include "runtime/sys/sys.h"
#include "runtime/sys/tables.h"

#include <sys/mman.h>

rt_cell *_Atomic *rt_leaves;

enum {
	REAL_AT_ONCE = 4, /* pages, where a neighbour is real */
	LARGE_PER_PAGE_BYTES = LEDGER_PAGE_BYTES / sizeof(struct ledger_large) * LEDGER_LARGE_BYTES,
};

#define LARGEST_BYTES (UINT64_C(1) << 40) /* of a block, as far as one is looked for */

enum {
	LEAVES_BYTES = LEDGER_LEAVES * sizeof(rt_cell *) + LEDGER_LEAVES_PAGES,
	LEAVES_PER_PAGE = LEDGER_PAGE_BYTES / sizeof(rt_cell *),
};

/* Is there one among those whose addresses lie in one page? */
static _Atomic uint8_t *has_leaves(uintptr_t leaf_index)
{
	return (_Atomic uint8_t *)&rt_leaves[LEDGER_LEAVES] + leaf_index / LEAVES_PER_PAGE;
}

bool rt_pagemap_start(void)
{
	if (!rt_leaves)
		rt_leaves = rt_mmap_sparse(LEAVES_BYTES);
	return rt_leaves != NULL;
}

void rt_pagemap_empty(void)
{
	const size_t bytes = ledger_leaf_pages(rt_global.granule_shift) * (LEDGER_PAGE_BYTES + 1);

	for (uintptr_t i = 0; i < LEDGER_LEAVES; i++) {
		rt_cell *leaf;

		if (!rt_load(has_leaves(i))) {
			i |= LEAVES_PER_PAGE - 1;
			continue;
		}
		leaf = rt_load_acquire(&rt_leaves[i]);
		for (size_t page = 0; leaf && page < ledger_leaf_pages(rt_global.granule_shift);
		     page++)
			if (rt_load(rt_leaf_real(leaf, rt_global.granule_shift) + page))
				rt_count_private(-(int64_t)LEDGER_PAGE_BYTES);
		if (leaf)
			(void)rt_syscall3(SYS_madvise, (long)leaf, (long)rt_page_up(bytes),
					  MADV_DONTNEED);
	}
}

void rt_pagemap_stop(void)
{
	rt_munmap_sparse((void *)rt_leaves, LEAVES_BYTES);
	rt_leaves = NULL;
}

static rt_cell *leaf_make(uintptr_t leaf_index)
{
	size_t bytes = ledger_leaf_pages(rt_global.granule_shift) * (LEDGER_PAGE_BYTES + 1);
	rt_cell *expected = NULL;
	rt_cell *leaf = rt_mmap_leaf(bytes);

	if (!leaf) {
		rt_note_unseen(LEDGER_UNSEEN_PAGE_MAP);
		return NULL;
	}
	rt_store(has_leaves(leaf_index), 1);
	if (atomic_compare_exchange_strong_explicit(&rt_leaves[leaf_index], &expected, leaf,
						    memory_order_acq_rel, memory_order_acquire))
		return leaf;
	rt_munmap_sparse(leaf, bytes);
	return expected;
}

/* Where blocks are close together the next pages will be needed too; a lone one costs one page. */
static void make_real(rt_cell *leaf, size_t page)
{
	_Atomic uint8_t *real = rt_leaf_real(leaf, rt_global.granule_shift);
	size_t pages = ledger_leaf_pages(rt_global.granule_shift);
	size_t first = page, count = 1, made = 0;

	if ((page > 0 && rt_load(&real[page - 1])) ||
	    (page + 1 < pages && rt_load(&real[page + 1]))) {
		first = page & ~(size_t)(REAL_AT_ONCE - 1);
		count = REAL_AT_ONCE;
	}
	for (size_t i = first; i < first + count; i++)
		made += !atomic_exchange_explicit(&real[i], 1, memory_order_relaxed);
	/* Where the kernel cannot, the pages come by faults. */
	(void)rt_syscall3(SYS_madvise, (long)leaf + (long)(first * LEDGER_PAGE_BYTES),
			  (long)(count * LEDGER_PAGE_BYTES), MADV_POPULATE_WRITE);
	rt_count_private((int64_t)(made * LEDGER_PAGE_BYTES));
}

static size_t page_of(rt_cell *leaf, const void *cell)
{
	return ((uintptr_t)cell - (uintptr_t)leaf) / LEDGER_PAGE_BYTES;
}

/* What of a large block's size stands in its cell; the rest is written before that. */
RT_INLINE uint64_t note_size(struct ledger_large *large, uintptr_t address, uint64_t size)
{
	rt_store(&large->size, size);
	atomic_signal_fence(memory_order_release);
	return (address & (LEDGER_LARGE_BYTES - 1)) >> LEDGER_BLOCK_ALIGN_SHIFT;
}

RT_INLINE struct rt_block large_in(enum ledger_cell_state state, uintptr_t address)
{
	rt_cell *leaf = rt_leaf_find(address);
	struct ledger_large *large = leaf ? rt_leaf_large(leaf, address, rt_global.granule_shift)
					  : NULL;
	uint64_t value = large ? rt_load(&large->cell) : 0;

	if (ledger_cell_state(value) != state || ledger_large_begin(value, address) != address)
		return (struct rt_block){ 0 };
	return (struct rt_block){ &large->cell, value, rt_load(&large->size), address };
}

struct rt_block rt_large_at(uintptr_t address)
{
	return large_in(LEDGER_CELL_LIVE, address);
}

rt_cell *rt_large_ready(uintptr_t address, uint64_t size, uint64_t *ret_field)
{
	unsigned shift = rt_global.granule_shift;
	rt_cell *leaf = rt_leaf_find(address);
	struct ledger_large *large;
	_Atomic uint8_t *real;
	rt_cell *small;

	if (!leaf)
		return NULL;
	real = rt_leaf_real(leaf, shift);
	large = rt_leaf_large(leaf, address, shift);
	if (!rt_load(&real[page_of(leaf, large)]) ||
	    ledger_cell_state(rt_load(&large->cell)) == LEDGER_CELL_LIVE)
		return NULL;
	small = &leaf[rt_leaf_index(address, shift)];
	if (rt_load(&real[page_of(leaf, small)]) && rt_load(small)) {
		if (ledger_cell_state(rt_load(small)) == LEDGER_CELL_LIVE)
			return NULL;
		/* Of two that were freed at one address the small one is the later. */
		rt_store(small, 0);
	}
	*ret_field = note_size(large, address, size);
	return &large->cell;
}

bool rt_block_take_stale(uintptr_t address, uint64_t size, struct rt_block *ret_block)
{
	unsigned shift = rt_global.granule_shift;
	rt_cell *leaf = rt_leaf_find(address);
	rt_cell *small = rt_cell_real(address, shift);
	struct ledger_large *large = leaf ? rt_leaf_large(leaf, address, shift) : NULL;
	uint64_t value = small ? rt_load(small) : 0;

	if (ledger_cell_state(value) == LEDGER_CELL_LIVE) {
		*ret_block = (struct rt_block){ small, value, ledger_cell_size(value),
						ledger_cell_begin(value, address) };
		rt_store(small, 0);
		return true;
	}
	value = large ? rt_load(&large->cell) : 0;
	*ret_block = (struct rt_block){ .address = ledger_large_begin(value, address) };
	/* Another one in the same 4 KB is in the way of a large one only. */
	if (ledger_cell_state(value) != LEDGER_CELL_LIVE ||
	    (size < LEDGER_LARGE_BYTES && ret_block->address != address))
		return false;
	ret_block->value = value;
	ret_block->size = rt_load(&large->size);
	rt_store(&large->cell, 0);
	return true;
}

void rt_block_note(uintptr_t address, uint32_t row, uint64_t size, uint32_t flags)
{
	uintptr_t leaf_index = address >> LEDGER_LEAF_SHIFT;
	unsigned shift = rt_global.granule_shift;
	rt_cell *leaf, *cell;
	uint64_t field = size;

	if (leaf_index >= LEDGER_LEAVES)
		return;
	leaf = rt_leaf_find(address);
	if (!leaf)
		leaf = leaf_make(leaf_index);
	if (!leaf)
		return;
	cell = &leaf[rt_leaf_index(address, shift)];
	if (size >= LEDGER_LARGE_BYTES)
		cell = &rt_leaf_large(leaf, address, shift)->cell;
	if (!rt_load(rt_leaf_real(leaf, shift) + page_of(leaf, cell)))
		make_real(leaf, page_of(leaf, cell));
	if (size >= LEDGER_LARGE_BYTES) {
		/* A small one's is looked at first. */
		rt_block_unknow(address);
		field = note_size((struct ledger_large *)cell, address, size);
	}
	rt_store(cell, rt_cell_value(address, row, field, flags));
}

/* The nearest small block that begins at @address or before, as far as one could reach. */
static struct rt_block small_before(uintptr_t address)
{
	unsigned shift = rt_global.granule_shift;
	uintptr_t first = address >> shift;
	uintptr_t reach = LEDGER_LARGE_BYTES >> shift;

	for (uintptr_t i = first; i + reach >= first && i > 0; i--) {
		rt_cell *cell = rt_cell_real(i << shift, shift);
		uint64_t value = cell ? rt_load(cell) : 0;
		uintptr_t begin = ledger_cell_begin(value, i << shift);

		if (ledger_cell_state(value) == LEDGER_CELL_LIVE && begin <= address &&
		    begin >> shift == i)
			return (struct rt_block){ cell, value, ledger_cell_size(value), begin };
	}
	return (struct rt_block){ 0 };
}

/* The nearest large one. */
static struct rt_block large_before(uintptr_t address)
{
	const uintptr_t leaf_bytes = (uintptr_t)1 << LEDGER_LEAF_SHIFT;
	uintptr_t lowest = address > LARGEST_BYTES ? address - LARGEST_BYTES : 0;
	uintptr_t at = address & ~(uintptr_t)(LEDGER_LARGE_BYTES - 1);

	while (at > lowest) {
		rt_cell *leaf = rt_leaf_find(at);
		struct ledger_large *large = leaf ? rt_leaf_large(leaf, at, rt_global.granule_shift)
						  : NULL;
		uintptr_t step = leaf ? LARGE_PER_PAGE_BYTES : leaf_bytes;

		if (large &&
		    rt_load(rt_leaf_real(leaf, rt_global.granule_shift) + page_of(leaf, large))) {
			uint64_t value = rt_load(&large->cell);
			uintptr_t begin = ledger_large_begin(value, at);

			if (ledger_cell_state(value) == LEDGER_CELL_LIVE && begin <= address)
				return (struct rt_block){ &large->cell, value,
							  rt_load(&large->size), begin };
			step = LEDGER_LARGE_BYTES;
		}
		/* The last 4 KB below what has been looked at. */
		at &= ~(step - 1);
		if (at <= lowest)
			break;
		at -= LEDGER_LARGE_BYTES;
	}
	return (struct rt_block){ 0 };
}

static bool reaches(const struct rt_block *block, uintptr_t address)
{
	return block->value &&
	       (address == block->address || address - block->address < block->size);
}

struct rt_block rt_block_around(uintptr_t address)
{
	struct rt_block small, large;

	if (address >> LEDGER_ADDRESS_BITS)
		return (struct rt_block){ 0 };
	small = small_before(address);
	if (reaches(&small, address))
		return small;
	large = large_before(address);
	return reaches(&large, address) ? large : (struct rt_block){ 0 };
}

struct rt_block rt_block_freed(uintptr_t address)
{
	rt_cell *small = rt_cell_real(address, rt_global.granule_shift);
	uint64_t value = small ? rt_load(small) : 0;

	if (ledger_cell_state(value) == LEDGER_CELL_FREED &&
	    ledger_cell_begin(value, address) == address)
		return (struct rt_block){ small, value, ledger_cell_size(value), address };
	return large_in(LEDGER_CELL_FREED, address);
}

bool rt_block_mark(const struct rt_block *block, uint32_t marks)
{
	uint64_t value = block->value;

	return atomic_compare_exchange_strong_explicit(
		block->cell, &value, value | (uint64_t)marks << LEDGER_CELL_MARKS_SHIFT,
		memory_order_relaxed, memory_order_relaxed);
}

void rt_block_become(uintptr_t address, enum ledger_family family)
{
	const struct rt_block block = rt_block_at(address, rt_global.granule_shift);
	const uint64_t families = (uint64_t)LEDGER_CELL_FAMILY << LEDGER_CELL_FLAGS_SHIFT;
	uint64_t value = block.value;

	if (value)
		(void)atomic_compare_exchange_strong_explicit(
			block.cell, &value,
			(value & ~families) | (uint64_t)family << LEDGER_CELL_FLAGS_SHIFT,
			memory_order_relaxed, memory_order_relaxed);
}

/* A live block's, and none of a pool's at @address. @begin: where that begins. */
static bool is_others(uint64_t cell, uintptr_t begin, uintptr_t address)
{
	return ledger_cell_state(cell) == LEDGER_CELL_LIVE &&
	       (begin != address || ledger_cell_family(cell) != LEDGER_FAMILY_POOL);
}

bool rt_block_has_room(uintptr_t address, uint64_t size)
{
	rt_cell *leaf = rt_leaf_find(address);
	uint64_t small, large;

	if (!leaf)
		return true;
	small = rt_load(&leaf[rt_leaf_index(address, rt_global.granule_shift)]);
	large = rt_load(&rt_leaf_large(leaf, address, rt_global.granule_shift)->cell);
	return !is_others(small, ledger_cell_begin(small, address), address) &&
	       (size < LEDGER_LARGE_BYTES ||
		!is_others(large, ledger_large_begin(large, address), address));
}

void rt_block_shrink(const struct rt_block *block, uint64_t size)
{
	const uint32_t flags = rt_cell_flags(block->value) & ~(uint32_t)LEDGER_CELL_CLASSED;
	const bool is_large = rt_large_at(block->address).cell == block->cell;

	if (is_large && size < UINT64_C(1) << rt_global.granule_shift) {
		rt_store(&((struct ledger_large *)block->cell)->size, size);
		return;
	}
	/* Out of the way of another large one that begins in the same 4 KB. */
	rt_block_note(block->address, ledger_cell_row(block->value), size, flags);
	if (is_large && size < LEDGER_LARGE_BYTES)
		rt_store(block->cell, 0);
}

void rt_block_unknow(uintptr_t address)
{
	rt_cell *leaf = rt_leaf_find(address);
	rt_cell *small = rt_cell_real(address, rt_global.granule_shift);

	if (small)
		rt_store(small, 0);
	if (leaf && (rt_large_at(address).value || rt_block_freed(address).value))
		rt_store(&rt_leaf_large(leaf, address, rt_global.granule_shift)->cell, 0);
}

static void each_in_page(rt_cell *leaf, uintptr_t base, size_t page, rt_block_function *each,
			 void *user)
{
	const unsigned shift = rt_global.granule_shift;
	const size_t cells = ledger_leaf_cells(shift), count = LEDGER_PAGE_BYTES / sizeof(*leaf);
	const size_t first = page * count;
	const bool is_small = first < cells;

	/* Of struct ledger_large, the size stands behind the cell. */
	for (size_t i = first; i < first + count; i += is_small ? 1 : 2) {
		const uint64_t value = rt_load(&leaf[i]);
		struct rt_block block = { .cell = &leaf[i], .value = value };

		if (ledger_cell_state(value) != LEDGER_CELL_LIVE)
			continue;
		block.size = is_small ? ledger_cell_size(value) : rt_load(&leaf[i + 1]);
		block.address = is_small
					? ledger_cell_begin(value, base + (i << shift))
					: ledger_large_begin(value, base + ((i - cells) / 2
									    << LEDGER_LARGE_SHIFT));
		each(&block, user);
	}
}

static void each_in_leaf(uintptr_t leaf_index, rt_block_function *each, void *user)
{
	const size_t pages = ledger_leaf_pages(rt_global.granule_shift);
	rt_cell *leaf = rt_load_acquire(&rt_leaves[leaf_index]);

	for (size_t page = 0; leaf && page < pages; page++)
		if (rt_load(rt_leaf_real(leaf, rt_global.granule_shift) + page))
			each_in_page(leaf, leaf_index << LEDGER_LEAF_SHIFT, page, each, user);
}

void rt_blocks_each(rt_block_function *each, void *user)
{
	for (uintptr_t i = 0; i < LEDGER_LEAVES; i++)
		if (!rt_load(has_leaves(i)))
			i |= LEAVES_PER_PAGE - 1;
		else
			each_in_leaf(i, each, user);
}
