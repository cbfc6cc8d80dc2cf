/* SPDX-License-Identifier: MIT */
/*
 * Every live block of a process, read from outside as docs/internals/ledger.md says, "Live blocks".
 * Nothing that is read is believed: it may be damaged, or made to keep a reader busy for ever.
 */
#ifndef TESTS_PROGRAMS_BLOCK_WALK_H
#define TESTS_PROGRAMS_BLOCK_WALK_H

#include "ledger/ledger_blocks.h"

#include <stdbool.h>

struct walk_block {
	uint64_t address;
	uint64_t size;
	uint32_t row;
	enum ledger_family family;
};

struct walk {
	/* False: some of these bytes cannot be read. */
	bool (*read)(void *user, uint64_t address, void *to, uint64_t bytes);
	void (*meet)(void *user, const struct walk_block *block);
	void *user;
	uint64_t left_bytes; /* how much may still be read; 0 at the end: not all was */
	uint64_t strange;    /* what was passed over */
};

static inline bool walk_read(struct walk *walk, uint64_t address, void *to, uint64_t bytes)
{
	if (bytes > walk->left_bytes) {
		walk->left_bytes = 0;
		return false;
	}
	walk->left_bytes -= bytes;
	if (walk->read(walk->user, address, to, bytes))
		return true;
	walk->strange++;
	return false;
}

static inline void walk_meet(struct walk *walk, uint64_t address, uint64_t size, uint64_t cell)
{
	struct walk_block block = { address, size, ledger_cell_row(cell),
				    ledger_cell_family(cell) };

	if (size > (UINT64_C(1) << LEDGER_ADDRESS_BITS) - address)
		walk->strange++;
	else
		walk->meet(walk->user, &block);
}

/* A page of cells for small blocks; the first one's granule begins at @address. */
static inline void walk_small(struct walk *walk, const uint64_t *cells, uint64_t address,
			      unsigned granule_shift)
{
	for (unsigned i = 0; i < LEDGER_PAGE_BYTES / sizeof(*cells); i++) {
		uint64_t granule = address + ((uint64_t)i << granule_shift);
		uint64_t begin = ledger_cell_begin(cells[i], granule);

		if (ledger_cell_state(cells[i]) != LEDGER_CELL_LIVE)
			continue;
		if (begin >> granule_shift != granule >> granule_shift)
			walk->strange++;
		else
			walk_meet(walk, begin, ledger_cell_size(cells[i]), cells[i]);
	}
}

/* The same for large ones; pairs of a cell and a size. */
static inline void walk_large(struct walk *walk, const uint64_t *items, uint64_t address)
{
	for (unsigned i = 0; i < LEDGER_PAGE_BYTES / sizeof(struct ledger_large); i++) {
		uint64_t cell = items[2 * i];
		uint64_t page = address + ((uint64_t)i << LEDGER_LARGE_SHIFT);
		uint64_t begin = ledger_large_begin(cell, page);

		if (ledger_cell_state(cell) != LEDGER_CELL_LIVE)
			continue;
		if (begin - page >= LEDGER_LARGE_BYTES)
			walk->strange++;
		else
			walk_meet(walk, begin, items[2 * i + 1], cell);
	}
}

/* @address: that the leaf stands for. */
static inline void walk_leaf(struct walk *walk, uint64_t leaf, uint64_t address, unsigned shift)
{
	enum {
		PAGES_MAX = (8 << (LEDGER_LEAF_SHIFT - LEDGER_GRANULE_SHIFT_OTHER)) /
				    LEDGER_PAGE_BYTES +
			    64
	};
	static uint8_t real[PAGES_MAX];
	static uint64_t page[LEDGER_PAGE_BYTES / sizeof(uint64_t)];
	uint64_t pages = ledger_leaf_pages(shift);
	uint64_t small_pages = ledger_leaf_cells(shift) * sizeof(uint64_t) / LEDGER_PAGE_BYTES;

	if (!walk_read(walk, leaf + pages * LEDGER_PAGE_BYTES, real, pages))
		return;
	for (uint64_t i = 0; i < pages; i++) {
		uint64_t large = (i - small_pages) *
				 (LEDGER_PAGE_BYTES / sizeof(struct ledger_large));

		if (!real[i] ||
		    !walk_read(walk, leaf + i * LEDGER_PAGE_BYTES, page, LEDGER_PAGE_BYTES))
			continue;
		if (i < small_pages)
			walk_small(walk, page,
				   address + (i * (LEDGER_PAGE_BYTES / sizeof(uint64_t)) << shift),
				   shift);
		else
			walk_large(walk, page, address + (large << LEDGER_LARGE_SHIFT));
	}
}

/* False: the ledger does not say where its process notes blocks. */
static inline bool walk_blocks(struct walk *walk, const struct ledger_blocks *blocks)
{
	static uint64_t leaves[LEDGER_PAGE_BYTES / sizeof(uint64_t)];
	const unsigned at_once = LEDGER_PAGE_BYTES / sizeof(uint64_t);

	if (blocks->granule_shift != LEDGER_GRANULE_SHIFT_GLIBC &&
	    blocks->granule_shift != LEDGER_GRANULE_SHIFT_OTHER)
		return false;
	for (uint64_t i = 0; i < LEDGER_LEAVES && walk->left_bytes; i += at_once) {
		if (!walk_read(walk, blocks->leaves + i * sizeof(uint64_t), leaves, sizeof(leaves)))
			continue;
		for (unsigned k = 0; k < at_once && walk->left_bytes; k++)
			if (leaves[k])
				walk_leaf(walk, leaves[k], (i + k) << LEDGER_LEAF_SHIFT,
					  blocks->granule_shift);
	}
	return true;
}

#endif
