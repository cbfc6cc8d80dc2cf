/* SPDX-License-Identifier: MIT */
#include "target/kept_result.h"

#include "base/procfs.h"
#include "base/xalloc.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

void seep_result_keep(struct scan_result *r)
{
	const uint64_t all = r->all_count, count = r->block_count;

	r->all = seep_xmemdup(r->all, all * sizeof(*r->all));
	r->from = seep_xmemdup(r->from, all * sizeof(*r->from));
	r->unreached = seep_xmemdup(r->unreached, count * sizeof(*r->unreached));
	r->edges = seep_xmemdup(r->edges, r->first_edge[count] * sizeof(*r->edges));
	r->first_edge = seep_xmemdup(r->first_edge, (count + 1) * sizeof(*r->first_edge));
}

void seep_result_free(const struct scan_result *result)
{
	free(result->all);
	free(result->from);
	free(result->unreached);
	free(result->edges);
	free(result->first_edge);
}

int seep_lost_memory(const struct seep_maps *maps, const struct seep_stopped *stopped)
{
	for (size_t i = 0; i < stopped->thread_count; i++)
		if (!stopped->threads[i].stopped)
			return -1;
	return open(seep_procfs_path(maps->tid, "mem").text, O_RDWR | O_CLOEXEC);
}

void seep_lost_note(const struct scan *scan, const struct scan_result *result, int memory)
{
	for (uint64_t i = 0; i < result->all_count && !result->is_blind; i++) {
		const struct scan_block *block = &result->all[i];
		uint64_t cell, at;
		uint16_t lost;

		if (block->state != SCAN_LOST && !block->was_lost)
			continue;
		lost = scan_cell_lost(scan, block);
		at = scan_cell_at(scan, block);
		if (pread(memory, &cell, sizeof(cell), (off_t)at) == (ssize_t)sizeof(cell) &&
		    ledger_cell_state(cell) == LEDGER_CELL_LIVE &&
		    ledger_cell_row(cell) == block->row && ledger_cell_lost(cell) != lost)
			(void)!pwrite(memory, &lost, sizeof(lost),
				      (off_t)at + LEDGER_CELL_LOST_SHIFT / 8);
	}
}
