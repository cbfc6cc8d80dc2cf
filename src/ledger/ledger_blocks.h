/* SPDX-License-Identifier: MIT */
/*
 * Where a process notes its live blocks: in its own private memory, which another process can read.
 * header.blocks of its ledger says where it is. docs/internals/ledger.md, "Live blocks".
 *
 * Two levels by address. A leaf stands for 64 MB of address space and has a cell for every granule
 * of it, for blocks of less than 4 KB, and a wider one for every 4 KB, for larger blocks, so that
 * large blocks that are far apart do not make a page of cells real each. A granule is 32 bytes
 * under glibc, whose smallest chunk is 32 bytes, so that two blocks never share a cell; else 16.
 */
#ifndef SEEP_LEDGER_BLOCKS_H
#define SEEP_LEDGER_BLOCKS_H

#include "ledger/kind.h"
#include "ledger/ledger.h"

/* Freed: the rest of the cell says what was there, until another block is noted. */
enum ledger_cell_state { LEDGER_CELL_EMPTY = 0, LEDGER_CELL_LIVE = 1, LEDGER_CELL_FREED = 2 };

/* A block's enum ledger_family, and beside it: */
enum ledger_cell_flags {
	LEDGER_CELL_FAMILY = (1 << 3) - 1,
	LEDGER_CELL_FOREIGN = 1 << 3, /* no chunk of the next malloc: no usable size */
	LEDGER_CELL_CLASSED = 1 << 4, /* the usable size depends on nothing but the requested one */
	/* Both: it lies between guards of ours, and what is usable is what was requested. */
	LEDGER_CELL_GUARDED = LEDGER_CELL_FOREIGN | LEDGER_CELL_CLASSED,
	LEDGER_CELL_FLAGS = (1 << 5) - 1,
};

/* Bits of a cell, from the lowest: row 25, half 1, state 2, flags 5, size 12, marks 2, taken 1; lost 16. */
enum {
	LEDGER_CELL_HALF_SHIFT = 25, /* bit 4 of the block's address */
	LEDGER_CELL_STATE_SHIFT = 26,
	LEDGER_CELL_FLAGS_SHIFT = 28,
	LEDGER_CELL_SIZE_SHIFT = 33, /* of a large block its offset in its 4 KB, in units of 16 */
	LEDGER_CELL_SIZE_BITS = 12,
	LEDGER_CELL_MARKS_SHIFT = 45,
	LEDGER_CELL_TAKEN_SHIFT =
		47,		     /* 1: in tier sampled, and a free looks for it: track/tier.h */
	LEDGER_CELL_LOST_SHIFT = 48, /* two bytes of their own: see ledger_cell_lost() */
};

/* What the program said of a block. */
enum ledger_cell_marks {
	LEDGER_CELL_IGNORED = 1 << 0,  /* not to be reported, nor what it leads to */
	LEDGER_CELL_REPORTED = 1 << 1, /* not to be reported again */
	LEDGER_CELL_MARKS = (1 << 2) - 1,
};

enum {
	LEDGER_BLOCK_ALIGN_SHIFT = 4, /* what is at no multiple of 16 is not noted */
	LEDGER_LEAF_SHIFT = 26,
	LEDGER_ADDRESS_BITS = 47,
	LEDGER_LEAVES = 1 << (LEDGER_ADDRESS_BITS - LEDGER_LEAF_SHIFT),
	/* Behind the addresses of leaves is for each page of them a byte, not 0 if it has some. */
	LEDGER_LEAVES_PAGES = LEDGER_LEAVES * 8 / LEDGER_PAGE_BYTES,
	LEDGER_LARGE_SHIFT = 12,
	LEDGER_LARGE_BYTES = 1 << LEDGER_LARGE_SHIFT,
	LEDGER_LEAF_LARGE = 1 << (LEDGER_LEAF_SHIFT - LEDGER_LARGE_SHIFT),
	LEDGER_GRANULE_SHIFT_GLIBC = 5,
	LEDGER_GRANULE_SHIFT_OTHER = 4,
};

/* Of a large block, one of LEDGER_LARGE_BYTES or more. */
struct ledger_large {
	_Atomic uint64_t cell;
	_Atomic uint64_t size;
};

/*
 * A leaf: cells by granule, LEDGER_LEAF_LARGE of struct ledger_large, and for each page of these a
 * byte that is not 0 if something was ever written there.
 */
static inline uint64_t ledger_leaf_cells(unsigned granule_shift)
{
	return UINT64_C(1) << (LEDGER_LEAF_SHIFT - granule_shift);
}

static inline uint64_t ledger_leaf_pages(unsigned granule_shift)
{
	return (ledger_leaf_cells(granule_shift) * sizeof(uint64_t) +
		LEDGER_LEAF_LARGE * sizeof(struct ledger_large)) /
	       LEDGER_PAGE_BYTES;
}

static inline uint32_t ledger_cell_row(uint64_t cell)
{
	return (uint32_t)cell & (LEDGER_ROW_ID_END - 1);
}

static inline enum ledger_cell_state ledger_cell_state(uint64_t cell)
{
	return (enum ledger_cell_state)(cell >> LEDGER_CELL_STATE_SHIFT & 3);
}

static inline uint32_t ledger_cell_flags(uint64_t cell)
{
	return (uint32_t)(cell >> LEDGER_CELL_FLAGS_SHIFT) & LEDGER_CELL_FLAGS;
}

static inline bool ledger_flags_are_guarded(uint32_t flags)
{
	return (flags & LEDGER_CELL_GUARDED) == LEDGER_CELL_GUARDED;
}

static inline enum ledger_family ledger_cell_family(uint64_t cell)
{
	return (enum ledger_family)(ledger_cell_flags(cell) & LEDGER_CELL_FAMILY);
}

static inline uint32_t ledger_cell_marks(uint64_t cell)
{
	return (uint32_t)(cell >> LEDGER_CELL_MARKS_SHIFT) & LEDGER_CELL_MARKS;
}

/*
 * Not 0: a leak scan found the block lost, and this is what it made of its contents then. The scan
 * writes it, into the process's memory; the process does when it notes another block there.
 */
static inline uint16_t ledger_cell_lost(uint64_t cell)
{
	return (uint16_t)(cell >> LEDGER_CELL_LOST_SHIFT);
}

/* A small block's size, a large one's offset. */
static inline uint64_t ledger_cell_size(uint64_t cell)
{
	return cell >> LEDGER_CELL_SIZE_SHIFT & ((UINT64_C(1) << LEDGER_CELL_SIZE_BITS) - 1);
}

/* Where the block begins that the cell of the granule around @address is about; @cell is live. */
static inline uint64_t ledger_cell_begin(uint64_t cell, uint64_t address)
{
	return (address & ~UINT64_C(31)) | (cell >> LEDGER_CELL_HALF_SHIFT & 1) << 4;
}

/* The same of the cell of a large block that begins in the 4 KB around @address. */
static inline uint64_t ledger_large_begin(uint64_t cell, uint64_t address)
{
	return (address & ~(uint64_t)(LEDGER_LARGE_BYTES - 1)) +
	       (ledger_cell_size(cell) << LEDGER_BLOCK_ALIGN_SHIFT);
}

_Static_assert(LEDGER_ROW_ID_END == 1 << LEDGER_CELL_HALF_SHIFT, "a row id fits its bits");
_Static_assert(LEDGER_LARGE_BYTES == 1 << LEDGER_CELL_SIZE_BITS, "a small size fits its bits");
_Static_assert(sizeof(struct ledger_large) == 16, "large cell layout");

#endif
