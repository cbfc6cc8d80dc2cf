/* SPDX-License-Identifier: MIT */
#include "recorder/scan_request.h"

#include "base/xalloc.h"
#include "core/bits.h"

#include <limits.h>
#include <linux/futex.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

struct lost {
	struct ledger_lost *items;
	uint32_t count; /* of items, listed_max at most */
	uint32_t listed_max;
	uint64_t blocks;
	uint64_t bytes;
};

/* Blocks that nobody has been told of, and that no suppression matches any more. */
static void gather(const struct scan_result *result, uint32_t first_row, struct lost *lost)
{
	lost->items = seep_xcalloc(lost->listed_max, sizeof(*lost->items));
	for (uint64_t i = 0; i < result->block_count; i++) {
		const struct scan_block *block = scan_result_block(result, i);

		if (block->state != SCAN_LOST || block->marks & LEDGER_CELL_REPORTED ||
		    block->row < first_row)
			continue;
		if (lost->count < lost->listed_max)
			lost->items[lost->count++] = (struct ledger_lost){ block->address,
									   block->size };
		lost->blocks++;
		lost->bytes += block->size;
	}
}

/* How many of the list it has now: in the ledger's file, and nowhere in the process's memory. */
static uint32_t write_list(const struct seep_ledger *ledger, const struct lost *lost)
{
	const size_t bytes = lost->count * sizeof(*lost->items);
	const off_t at = (off_t)ledger->view.header.table[LEDGER_TABLE_LOST].offset;

	return pwrite(ledger->fd, lost->items, bytes, at) == (ssize_t)bytes ? lost->count : 0;
}

static bool look(struct seep_ledger *ledger, uint32_t pid, const struct seep_leak_check_plan *plan,
		 struct lost *lost)
{
	const uint32_t kind = LEDGER_GET(ledger->state->scan_kind);
	SEEP_RELEASED(seep_profile_free_at) struct seep_profile *profile = NULL;
	struct seep_leak_scan *scan = NULL;
	bool done;

	/* The thread that asks waits as at an end, and exit_tid is its. */
	if (seep_leak_check_now(ledger, pid, SEEP_SCAN_AT_EXIT, plan, &scan, &profile, NULL) < 0)
		return false;
	done = scan != NULL;
	if (done)
		gather(&scan->result, ledger->view.header.first_row, lost);
	if (kind == LEDGER_SCAN_REPORT && plan->report && (!done || lost->blocks))
		plan->report(profile);
	seep_leak_scan_free(scan);
	return done;
}

void seep_scan_request_welcome(struct seep_ledger *ledger)
{
	atomic_store_explicit(&ledger->control->scan_ready, 1, memory_order_release);
}

bool seep_scan_request_waits(const struct seep_ledger *ledger)
{
	return LEDGER_GET(ledger->state->scan_request) !=
	       atomic_load_explicit(&ledger->control->scan_answer, memory_order_relaxed);
}

void seep_scan_request_answer(struct seep_ledger *ledger, uint32_t pid,
			      const struct seep_leak_check_plan *plan)
{
	struct ledger_control *control = ledger->control;
	const struct ledger_state *state = ledger->state;
	const uint32_t request = LEDGER_GET(state->scan_request);
	const uint64_t most = ledger->view.header.table[LEDGER_TABLE_LOST].capacity;
	const uint64_t real = LEDGER_GET(state->table[LEDGER_TABLE_LOST].ready);
	struct lost lost = { .listed_max = (uint32_t)core_smaller(real, most) };
	const bool done = look(ledger, pid, plan, &lost);

	atomic_store_explicit(&control->scan_failed, !done, memory_order_relaxed);
	atomic_store_explicit(&control->scan_leaks, lost.blocks, memory_order_relaxed);
	atomic_store_explicit(&control->scan_leak_bytes, lost.bytes, memory_order_relaxed);
	atomic_store_explicit(&control->scan_listed, write_list(ledger, &lost),
			      memory_order_relaxed);
	free(lost.items);
	atomic_store_explicit(&control->scan_answer, request, memory_order_release);
	(void)syscall(SYS_futex, &control->scan_answer, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}
