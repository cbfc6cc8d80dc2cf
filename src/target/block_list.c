/* SPDX-License-Identifier: MIT */
#include "target/block_list.h"

#include <stdlib.h>

#include "base/xalloc.h"
#include "ledger/ledger.h"
#include "target/remote_memory.h"

enum { KEPT_BYTES = 64 << 20 };
#define PAGE_MAP_MAX_BYTES (UINT64_C(64) << 30)

static int read_once(struct seep_memory *memory, const struct ledger_header *header,
		     struct scan *ret, struct seep_error *err)
{
	const struct scan_memory reading = seep_memory_for_scan(memory);
	const struct scan_options options = { .blocks_max_bytes = PAGE_MAP_MAX_BYTES };
	int rc;

	seep_memory_forget(memory);
	rc = scan_read_blocks(ret, &reading, &options, &header->blocks);
	if (rc == -SCAN_ENOMEM)
		return seep_fail(err, SEEP_ESYS, "no memory for the list of live blocks");
	return rc < 0 ? seep_fail(err, SEEP_ECORRUPT,
				  "the process's list of live blocks cannot be read")
		      : 0;
}

static bool same(const struct scan_block *a, const struct scan_block *b)
{
	return a->address == b->address && a->size == b->size && a->row == b->row;
}

int seep_block_list_read(pid_t pid, const struct ledger_header *header, struct seep_block_list *ret,
			 struct seep_error *err)
{
	struct seep_block_list blocks = { 0 };
	struct seep_memory *memory;
	struct scan first, second;
	int rc = seep_memory_open(pid, KEPT_BYTES, &memory, err);

	if (rc < 0)
		return rc;
	rc = read_once(memory, header, &first, err);
	if (rc == 0)
		rc = read_once(memory, header, &second, err);
	if (rc == 0) {
		blocks.items = seep_xcalloc(first.block_count, sizeof(*blocks.items));
		for (uint64_t i = 0, j = 0; i < first.block_count; i++) {
			while (j < second.block_count &&
			       second.blocks[j].address < first.blocks[i].address)
				j++;
			if (j < second.block_count && same(&first.blocks[i], &second.blocks[j]))
				blocks.items[blocks.count++] = first.blocks[i];
		}
		*ret = blocks;
	}
	seep_memory_close(memory);
	return rc;
}

void seep_block_list_done(struct seep_block_list *blocks)
{
	free(blocks->items);
	*blocks = (struct seep_block_list){ 0 };
}
