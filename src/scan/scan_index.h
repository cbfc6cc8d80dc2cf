/* SPDX-License-Identifier: MIT */
/*
 * From an address to the block that it is in, in a few loads: by 64 MB, then by 4 KB of address
 * space, then a bit for each 16 bytes that a block can begin at, whose rank is the block's index.
 */
#ifndef SEEP_SCAN_SCAN_INDEX_H
#define SEEP_SCAN_SCAN_INDEX_H

#include "scan/scan.h"

enum {
	SCAN_UNIT_SHIFT = LEDGER_BLOCK_ALIGN_SHIFT + 6, /* address space of one word of bits */
	SCAN_UNITS = 1 << (LEDGER_LARGE_SHIFT - SCAN_UNIT_SHIFT),
};

#define SCAN_NO_BLOCK UINT32_MAX
/* An entry of leaves or pages: what block, that began before, covers all of it. */
#define SCAN_COVERED (UINT32_C(1) << 31)

/* 4 KB in which blocks begin. */
struct scan_page {
	uint64_t begins[SCAN_UNITS];
	uint64_t met[SCAN_UNITS]; /* of those, reached by the marker */
	uint32_t first;		  /* index of the first one */
	uint8_t before[SCAN_UNITS];
};

struct scan_index {
	/* By 64 MB. 0: no block; else SCAN_COVERED, or 1 + the number of its part of pages. */
	uint32_t *leaves;
	/* By 4 KB of these. 0: no block; else SCAN_COVERED, or 1 + index into records. */
	uint32_t *pages;
	struct scan_page *records;
	uint64_t lowest; /* first block's begin */
	uint64_t span;	 /* from there to behind the last one's end, which is included */
};

/*
 * Index @scan->blocks, at most @leaves_max 64 MB and @records_max 4 KB of which are met by a begin
 * or an end. 0, or -SCAN_ENOMEM.
 */
int scan_index_make(struct scan_index *index, const struct scan *scan, uint64_t leaves_max,
		    uint64_t records_max);

static inline unsigned scan_bits_count(uint64_t x)
{
	x -= x >> 1 & UINT64_C(0x5555555555555555);
	x = (x & UINT64_C(0x3333333333333333)) + (x >> 2 & UINT64_C(0x3333333333333333));
	x = (x + (x >> 4)) & UINT64_C(0x0f0f0f0f0f0f0f0f);
	return (unsigned)(x * UINT64_C(0x0101010101010101) >> 56);
}

static inline unsigned scan_unit(uint64_t address)
{
	return (unsigned)(address >> SCAN_UNIT_SHIFT) & (SCAN_UNITS - 1);
}

static inline uint64_t scan_unit_bit(uint64_t address)
{
	return UINT64_C(1) << (address >> LEDGER_BLOCK_ALIGN_SHIFT & 63);
}

/* Entry of the 4 KB around @address, which is between the lowest and the last block. */
static inline uint32_t scan_index_entry(const struct scan_index *index, uint64_t address)
{
	uint32_t leaf = index->leaves[address >> LEDGER_LEAF_SHIFT];

	if (!leaf || leaf & SCAN_COVERED)
		return leaf;
	return index->pages[(uint64_t)(leaf - 1) * LEDGER_LEAF_LARGE +
			    (address >> LEDGER_LARGE_SHIFT & (LEDGER_LEAF_LARGE - 1))];
}

static inline bool scan_page_begins(const struct scan_page *page, uint64_t address)
{
	return !(address & ((1 << LEDGER_BLOCK_ALIGN_SHIFT) - 1)) &&
	       page->begins[scan_unit(address)] & scan_unit_bit(address);
}

/* The last block of all that begins at or below @address. */
static inline uint32_t scan_page_block(const struct scan_page *page, uint64_t address)
{
	unsigned unit = scan_unit(address);
	uint64_t upto = scan_unit_bit(address) * 2 - 1;

	/* 0 - 1 before the first block of all is SCAN_NO_BLOCK. */
	return page->first + page->before[unit] + scan_bits_count(page->begins[unit] & upto) - 1;
}

/* The same for any address; SCAN_NO_BLOCK where none can be around. */
static inline uint32_t scan_index_block(const struct scan_index *index, uint64_t address)
{
	uint32_t entry;

	if (address - index->lowest >= index->span)
		return SCAN_NO_BLOCK;
	entry = scan_index_entry(index, address);
	if (!entry)
		return SCAN_NO_BLOCK;
	if (entry & SCAN_COVERED)
		return entry & ~SCAN_COVERED;
	return scan_page_block(&index->records[entry - 1], address);
}

#endif
