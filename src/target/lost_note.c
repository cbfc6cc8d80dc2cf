/* SPDX-License-Identifier: MIT */
#include "target/lost_note.h"

#include "base/procfs.h"

#include <fcntl.h>
#include <unistd.h>

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
