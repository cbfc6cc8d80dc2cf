/* SPDX-License-Identifier: MIT */
#include "scan/scan.h"

#include "scan/scan_private.h"

const struct scan_block *scan_find(const struct scan *scan, uint64_t address)
{
	uint32_t i = scan_index_block(&scan->private->index, address);
	const struct scan_block *block = &scan->blocks[i];

	if (i == SCAN_NO_BLOCK || address - block->address >= block->size + !block->size)
		return NULL;
	return block;
}

size_t scan_chain(const struct scan *scan, uint64_t address, struct scan_link *ret_links,
		  size_t max)
{
	const struct scan_block *block = scan_find(scan, address);
	uint8_t root = block ? block->root : SCAN_ROOT_NONE;
	size_t count = 0;

	if (!scan->options.want_chains)
		return 0;
	while (block && block->state != SCAN_LOST && count < max) {
		uint64_t from = scan->private->from[block - scan->blocks];
		struct scan_link *link = &ret_links[count];

		if (!from)
			break;
		link->from = from & ~SCAN_FROM_ROOT;
		link->rule = block->rule;
		block = from & SCAN_FROM_ROOT ? NULL : scan_find(scan, from);
		link->block = block ? block->address : 0;
		link->root = root;
		count++;
	}
	return count;
}
