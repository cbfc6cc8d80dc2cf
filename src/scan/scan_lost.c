/* SPDX-License-Identifier: MIT */
/*
 * The cell of a lost block keeps a number made of its contents: whoever changes them has a pointer,
 * so that the block is not lost; and if the cell is another block's by the time that the number is
 * written, the number says nothing of that one.
 */
#include "base/search.h"
#include "core/bits.h"
#include "core/fnv.h"
#include "scan/scan_private.h"

enum { LOOKED_AT_BYTES = 4096 };

uint16_t scan_cell_lost(const struct scan *scan, const struct scan_block *block)
{
	const uint64_t bytes = core_smaller(block->size, LOOKED_AT_BYTES);
	uint8_t start[LOOKED_AT_BYTES];

	if (block->state != SCAN_LOST || !scan_copy(scan, block->address, start, bytes))
		return 0;
	return (uint16_t)(core_fnv_bytes(CORE_FNV_BASIS ^ block->size, start, bytes) % UINT16_MAX +
			  1);
}

void scan_lost_set_apart(struct scan *scan)
{
	struct scan_private *own = scan->private;

	for (uint32_t i = 0; own->lost_count && i < scan->block_count; i++) {
		struct scan_block *block = &scan->blocks[i];

		block->was_lost = block->lost != 0;
		if (!block->lost || block->lost != scan_cell_lost(scan, block))
			continue;
		own->fates[i].rule = SCAN_RULE_LOST_BEFORE;
		/* So that who meets a pointer to it passes it over. */
		scan_page_of(scan, block->address)->met[scan_unit(block->address)] |=
			scan_unit_bit(block->address);
	}
}

void scan_lost_take_back(struct scan *scan, uint32_t block, uint64_t to)
{
	const uint64_t address = scan->blocks[block].address;

	if (to != address && to - address >= scan->blocks[block].size)
		return;
	scan->private->fates[block].rule = SCAN_RULE_NONE;
	scan_page_of(scan, address)->met[scan_unit(address)] &= ~scan_unit_bit(address);
}

uint64_t scan_cell_at(const struct scan *scan, const struct scan_block *block)
{
	const unsigned shift = scan->private->granule_shift;
	const uint64_t in_leaf = block->address & ((UINT64_C(1) << LEDGER_LEAF_SHIFT) - 1);
	const struct scan_leaf *leaf =
		&scan->leaves[seep_search_upto(scan->leaves, scan->leaf_count, sizeof(*leaf),
					       block->address) -
			      1];

	if (block->size < LEDGER_LARGE_BYTES)
		return leaf->at + (in_leaf >> shift) * sizeof(uint64_t);
	return leaf->at + ledger_leaf_cells(shift) * sizeof(uint64_t) +
	       (in_leaf >> LEDGER_LARGE_SHIFT) * sizeof(struct ledger_large);
}
