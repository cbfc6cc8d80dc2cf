/* SPDX-License-Identifier: MIT */
#include "recorder/ledger_control.h"

#include "base/clock.h"
#include "base/procfs.h"
#include "base/terminal.h"
#include "profile/process_life.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { SUMS_WAITS = 100 }; /* of a millisecond */

/*
 * The page of item @index is real now. If it is the first that the table's ready count leaves out,
 * count it in, as the runtime does for pages that it makes real.
 */
static void count_page(struct seep_ledger *ledger, uint64_t index)
{
	enum { PER_PAGE = LEDGER_PAGE_BYTES / sizeof(struct ledger_mark) };
	struct ledger_table_state *table = &ledger->state->table[LEDGER_TABLE_MARKS];
	uint64_t page_end = (index / PER_PAGE + 1) * PER_PAGE;
	uint64_t ready = LEDGER_GET(table->ready);

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
static bool write_mark(struct seep_ledger *ledger, uint64_t index, const struct ledger_mark *mark)
{
	const struct ledger_table *table = &ledger->view.header.table[LEDGER_TABLE_MARKS];
	off_t at = (off_t)(table->offset + index * sizeof(*mark));
	const uint32_t ready = 1;

	if (pwrite(ledger->fd, mark, sizeof(*mark), at) != (ssize_t)sizeof(*mark))
		return false;
	count_page(ledger, index);
	/* Last, so that a reader never meets half a mark. */
	return pwrite(ledger->fd, &ready, sizeof(ready), at) == (ssize_t)sizeof(ready);
}

static void set_bits(struct ledger_control *control, uint32_t mask, uint32_t bits)
{
	uint32_t before = atomic_load_explicit(&control->mode, memory_order_relaxed);

	while (!atomic_compare_exchange_weak_explicit(&control->mode, &before,
						      (before & ~mask) | bits, memory_order_release,
						      memory_order_relaxed))
		;
}

void seep_ledger_set_mode(struct ledger_control *control, enum ledger_mode mode)
{
	/* First: from then on a free may be of what was not recorded. */
	if (mode != LEDGER_MODE_ALL)
		atomic_store_explicit(&control->filtered_once, LEDGER_FILTERED_ALL,
				      memory_order_seq_cst);
	set_bits(control, LEDGER_MODE_MASK, mode);
}

int seep_ledger_mark(struct seep_ledger *ledger, const char *name, uint64_t now_ns,
		     uint32_t *ret_epoch, struct seep_error *err)
{
	const struct ledger_table *table = &ledger->view.header.table[LEDGER_TABLE_MARKS];
	struct ledger_table_state *state = &ledger->state->table[LEDGER_TABLE_MARKS];
	struct ledger_mark mark = { .at_ns = now_ns };
	uint64_t index = table->capacity;

	if (atomic_load_explicit(&state->reserved, memory_order_relaxed) < table->capacity)
		index = atomic_fetch_add_explicit(&state->reserved, 1, memory_order_relaxed);
	if (index >= table->capacity)
		return seep_fail(err, SEEP_ELIMIT,
				 "the ledger has no room for more than %" PRIu64 " marks",
				 table->capacity);
	if (name)
		memcpy(mark.name, name, strnlen(name, sizeof(mark.name) - 1));
	mark.epoch = atomic_fetch_add_explicit(&ledger->control->epoch, 1, memory_order_acq_rel) +
		     1;
	errno = ENOSPC;
	if (!write_mark(ledger, index, &mark))
		return seep_fail_errno(err, errno, "cannot write the mark to %s",
				       ledger->file_name);
	if (ret_epoch)
		*ret_epoch = mark.epoch;
	return 0;
}

void seep_ledger_set_tier(struct seep_ledger *ledger, enum ledger_mode tier, const char *name)
{
	struct ledger_control *control = ledger->control;
	struct seep_error ignored;
	char mark[LEDGER_MARK_NAME_BYTES];

	if ((atomic_load_explicit(&control->mode, memory_order_relaxed) & LEDGER_MODE_TIERS) ==
	    tier)
		return;
	(void)snprintf(mark, sizeof(mark), "tier %s", name);
	/* Another epoch in any case: threads look at the number of changes where that is another one. */
	if (seep_ledger_mark(ledger, mark, seep_monotonic_ns(), NULL, &ignored) < 0)
		atomic_fetch_add_explicit(&control->epoch, 1, memory_order_acq_rel);
	atomic_fetch_add_explicit(&control->tier_changes, 1, memory_order_acq_rel);
	set_bits(control, LEDGER_MODE_TIERS, tier);
}

int seep_mark_name_check(const char *name, struct seep_error *err)
{
	const size_t bytes = strlen(name);
	unsigned code;

	if (bytes == 0 || bytes >= LEDGER_MARK_NAME_BYTES)
		return seep_fail(err, SEEP_EUSAGE,
				 "the name of a mark has 1 to %d bytes, this has %zu",
				 LEDGER_MARK_NAME_BYTES - 1, bytes);
	if (strcmp(name, "now") == 0)
		return seep_fail(err, SEEP_EUSAGE,
				 "no mark can be called \"now\": that is the present");
	for (size_t at = 0, step; at < bytes; at += step) {
		step = seep_utf8_decode(name + at, bytes - at, &code);
		if (step == 0 || seep_utf8_is_unsafe(code) || code == '@')
			return seep_fail(
				err, SEEP_EUSAGE,
				"the name of a mark has no '@', control character or broken "
				"UTF-8: \"%s\"",
				name);
	}
	return 0;
}

bool seep_ledger_close_sums(struct seep_ledger *ledger)
{
	struct ledger_sums *sums = (void *)((char *)ledger->map.at + 3 * LEDGER_PAGE_BYTES);
	const struct timespec pause = { .tv_nsec = 1000000 };

	atomic_store_explicit(&sums->closed, 1, memory_order_seq_cst);
	for (int i = 0; i < SUMS_WAITS; i++) {
		if (!atomic_load_explicit(&sums->adding, memory_order_seq_cst))
			return true;
		(void)nanosleep(&pause, NULL);
	}
	return false;
}
