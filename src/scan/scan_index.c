/* SPDX-License-Identifier: MIT */
/*
 * Builds the index, and finds blocks by it. They do not overlap, so that what they cover is set
 * once each. One byte behind a block counts as covered: a pointer to there means the block if none
 * begins there.
 */
#include "scan/scan_index.h"

#include "core/bits.h"
#include "scan/scan_private.h"

static uint32_t *leaf_pages(struct scan_index *index, uint64_t address, uint32_t *leaf_count)
{
	uint32_t *leaf = &index->leaves[address >> LEDGER_LEAF_SHIFT];

	if (!*leaf || *leaf & SCAN_COVERED)
		*leaf = ++*leaf_count;
	return &index->pages[(uint64_t)(*leaf - 1) * LEDGER_LEAF_LARGE];
}

static uint32_t page_of(uint64_t address)
{
	return (uint32_t)(address >> LEDGER_LARGE_SHIFT) & (LEDGER_LEAF_LARGE - 1);
}

/* Entries of all 4 KB behind the first one that a block reaches into. */
static void cover(struct scan_index *index, uint64_t begin, uint64_t end, uint32_t block,
		  uint32_t *leaf_count)
{
	uint64_t at = (begin & ~(uint64_t)(LEDGER_LARGE_BYTES - 1)) + LEDGER_LARGE_BYTES;
	const uint64_t leaf_bytes = UINT64_C(1) << LEDGER_LEAF_SHIFT;

	while (at <= end) {
		if (!(at & (leaf_bytes - 1)) && end - at >= leaf_bytes) {
			index->leaves[at >> LEDGER_LEAF_SHIFT] = SCAN_COVERED | block;
			at += leaf_bytes;
			continue;
		}
		leaf_pages(index, at, leaf_count)[page_of(at)] = SCAN_COVERED | block;
		at += LEDGER_LARGE_BYTES;
	}
}

/* Counts of begins before each unit; when all of a page's are there. */
static void sum_up(struct scan_page *page)
{
	unsigned before = 0;

	for (unsigned unit = 0; unit < SCAN_UNITS; unit++) {
		page->before[unit] = (uint8_t)before;
		before += scan_bits_count(page->begins[unit]);
	}
}

int scan_index_make(struct scan_index *index, const struct scan *scan, uint64_t leaves_max,
		    uint64_t records_max)
{
	struct scan_page *page = NULL;
	uint64_t page_at = UINT64_MAX;
	uint32_t leaf_count = 0, record_count = 0;

	index->leaves = scan_take(scan, LEDGER_LEAVES, sizeof(*index->leaves));
	index->pages = scan_take(scan, leaves_max * LEDGER_LEAF_LARGE, sizeof(*index->pages));
	index->records = scan_take(scan, records_max, sizeof(*index->records));
	if (!index->leaves || !index->pages || !index->records)
		return -SCAN_ENOMEM;
	for (uint32_t i = 0; i < scan->block_count; i++) {
		uint64_t begin = scan->blocks[i].address, end = begin + scan->blocks[i].size;

		scan->private->fates[i].words =
			(uint8_t)core_smaller((end - begin) / sizeof(uint64_t), SCAN_WORDS_MAX);
		if (begin >> LEDGER_LARGE_SHIFT != page_at) {
			if (page)
				sum_up(page);
			page_at = begin >> LEDGER_LARGE_SHIFT;
			leaf_pages(index, begin, &leaf_count)[page_of(begin)] = ++record_count;
			page = &index->records[record_count - 1];
			page->first = i;
		}
		page->begins[scan_unit(begin)] |= scan_unit_bit(begin);
		cover(index, begin, end, i, &leaf_count);
	}
	if (page)
		sum_up(page);
	if (scan->block_count) {
		const struct scan_block *last = &scan->blocks[scan->block_count - 1];

		index->lowest = scan->blocks[0].address;
		index->span = last->address + last->size + 1 - index->lowest;
	}
	return 0;
}

const struct scan_block *scan_find(const struct scan *scan, uint64_t address)
{
	uint32_t i = scan_index_block(&scan->private->index, address);
	const struct scan_block *block = &scan->blocks[i];

	if (i == SCAN_NO_BLOCK || address - block->address >= block->size + !block->size)
		return NULL;
	return block;
}
