/* SPDX-License-Identifier: MIT */
#include "recorder/ledger_control.h"

#include "base/procfs.h"

#include <unistd.h>

/*
 * The page of item @index is real now. If it is the first that the table's ready count leaves out,
 * count it in, as the runtime does for pages that it makes real.
 */
static void count_page(struct seep_ledger *ledger, uint64_t index)
{
	enum { PER_PAGE = LEDGER_PAGE_BYTES / sizeof(struct ledger_mark) };
	struct ledger_table_state *table = &ledger->state->table[LEDGER_TABLE_MARKS];
	uint64_t page_end = (index / PER_PAGE + 1) * PER_PAGE;
	uint64_t ready = atomic_load_explicit(&table->ready, memory_order_acquire);

	if (page_end > ledger->view.header.table[LEDGER_TABLE_MARKS].capacity)
		page_end = ledger->view.header.table[LEDGER_TABLE_MARKS].capacity;
	while (ready <= index && ready + PER_PAGE >= page_end) {
		if (!atomic_compare_exchange_strong_explicit(&table->ready, &ready, page_end,
							     memory_order_acq_rel,
							     memory_order_acquire))
			continue;
		atomic_fetch_add_explicit(&ledger->state->real_bytes, LEDGER_PAGE_BYTES,
					  memory_order_relaxed);
		return;
	}
}

/* Written to the file, not through a mapping: a full file system is then an error, not a signal. */
static void write_mark(struct seep_ledger *ledger, uint64_t index, const struct ledger_mark *mark)
{
	const struct ledger_table *table = &ledger->view.header.table[LEDGER_TABLE_MARKS];
	off_t at = (off_t)(table->offset + index * sizeof(*mark));
	const uint32_t ready = 1;

	if (pwrite(ledger->fd, mark, sizeof(*mark), at) != (ssize_t)sizeof(*mark))
		return;
	count_page(ledger, index);
	/* Last, so that a reader never meets half a mark. */
	(void)!pwrite(ledger->fd, &ready, sizeof(ready), at);
}

uint32_t seep_ledger_mark(struct seep_ledger *ledger, uint64_t now_ns)
{
	const struct ledger_table *table = &ledger->view.header.table[LEDGER_TABLE_MARKS];
	struct ledger_table_state *state = &ledger->state->table[LEDGER_TABLE_MARKS];
	struct ledger_mark mark = { .at_ns = now_ns };
	uint64_t index;

	if (atomic_load_explicit(&state->reserved, memory_order_relaxed) >= table->capacity)
		return 0;
	index = atomic_fetch_add_explicit(&state->reserved, 1, memory_order_relaxed);
	if (index >= table->capacity)
		return 0;
	mark.epoch = atomic_fetch_add_explicit(&ledger->control->epoch, 1, memory_order_acq_rel) +
		     1;
	write_mark(ledger, index, &mark);
	return mark.epoch;
}

enum seep_process_life seep_ledger_life(const struct seep_ledger *ledger)
{
	const struct ledger_header *header = &ledger->view.header;
	enum seep_process_life life;
	uint32_t pid = header->pid;

	life = seep_profile_process_life(header, &pid);
	return pid == header->pid ? life : SEEP_PROCESS_UNKNOWN;
}

bool seep_ledger_has_recorder(const struct seep_ledger *ledger)
{
	uint32_t pid = atomic_load_explicit(&ledger->control->recorder_pid, memory_order_acquire);
	uint64_t start = atomic_load_explicit(&ledger->control->recorder_start_ticks,
					      memory_order_acquire);

	return pid != 0 && !seep_profile_is_elsewhere(&ledger->view.header) &&
	       seep_procfs_alive(pid, start);
}
