/* SPDX-License-Identifier: MIT */
#include "target/block_list.h"

#include <stdlib.h>

#include "base/xalloc.h"
#include "ledger/ledger.h"
#include "target/remote_memory.h"

enum { KEPT_BYTES = 64 << 20, LISTS = 2 /* a scan's array, and the lists of both */ };

int seep_block_list_scan(pid_t pid, const struct ledger_header *header, struct seep_memory *memory,
			 unsigned lists, struct scan *ret, struct seep_error *err)
{
	const struct scan_memory reading = seep_memory_for_scan(memory);
	struct scan_options options = { 0 };
	int rc;

	seep_memory_bound(pid, &options);
	options.memory_max_bytes /= lists;
	rc = scan_read_blocks(ret, &reading, &options, &header->blocks);
	if (rc == -SCAN_ENOMEM || rc == -SCAN_EROOM)
		return seep_fail(err, SEEP_ESYS, "no memory for the list of live blocks");
	return rc < 0 ? seep_fail(err, SEEP_ECORRUPT,
				  "the process's list of live blocks cannot be read")
		      : 0;
}

static int read_once(pid_t pid, const struct ledger_header *header, struct seep_block_list *ret,
		     struct seep_error *err)
{
	struct seep_memory *memory;
	struct scan scan;
	int rc = seep_memory_open(pid, KEPT_BYTES, &memory, err);

	if (rc < 0)
		return rc;
	rc = seep_block_list_scan(pid, header, memory, LISTS, &scan, err);
	if (rc == 0) {
		ret->items = seep_xmemdup(scan.blocks, scan.block_count * sizeof(*scan.blocks));
		ret->count = scan.block_count;
	}
	seep_memory_close(memory);
	return rc;
}

static bool same(const struct scan_block *a, const struct scan_block *b)
{
	return a->address == b->address && a->size == b->size && a->row == b->row;
}

int seep_block_list_read(pid_t pid, const struct ledger_header *header, struct seep_block_list *ret,
			 struct seep_error *err)
{
	struct seep_block_list first = { 0 }, second = { 0 };
	uint64_t kept = 0;
	int rc = read_once(pid, header, &first, err);

	if (rc == 0)
		rc = read_once(pid, header, &second, err);
	for (uint64_t i = 0, j = 0; i < first.count; i++) {
		while (j < second.count && second.items[j].address < first.items[i].address)
			j++;
		if (j < second.count && same(&first.items[i], &second.items[j]))
			first.items[kept++] = first.items[i];
	}
	seep_block_list_done(&second);
	first.count = kept;
	if (rc < 0)
		seep_block_list_done(&first);
	else
		*ret = first;
	return rc;
}

void seep_block_list_done(struct seep_block_list *blocks)
{
	free(blocks->items);
	*blocks = (struct seep_block_list){ 0 };
}
