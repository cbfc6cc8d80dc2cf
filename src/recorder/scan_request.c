/* SPDX-License-Identifier: MIT */
#include "recorder/scan_request.h"

#include "base/xalloc.h"
#include "profile/context_hash.h"
#include "profile/ledger_load.h"
#include "profile/symbolise.h"
#include "target/refused_call.h"

#include <limits.h>
#include <linux/futex.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum { LIST_MAX = 1 << 16 };

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
		const struct scan_block *block = &result->blocks[i];

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

/* With names, since suppressions are about them. */
static int judge(const struct seep_ledger *ledger, struct seep_leak_scan *scan,
		 const struct seep_leak_check_plan *plan, struct seep_profile **ret_profile)
{
	char *path = seep_xasprintf("/proc/self/fd/%d", ledger->fd);
	struct seep_symbols *symbols = NULL;
	struct seep_profile *profile = NULL;
	int rc;

	rc = seep_profile_load_ledger(path, false, &profile, NULL);
	free(path);
	if (rc < 0)
		return rc;
	if (seep_symbols_new(plan->symbols, &symbols, NULL) == 0)
		(void)!seep_profile_symbolise(profile, symbols, false, NULL, NULL, NULL);
	seep_symbols_free(symbols);
	seep_profile_hash_contexts(profile);
	seep_leak_check_fill(profile, scan, plan);
	*ret_profile = profile;
	return 0;
}

/* How many of the list it has now. */
static uint32_t write_list(uint32_t pid, uint64_t address, const struct lost *lost)
{
	struct iovec here = { lost->items, lost->count * sizeof(*lost->items) };
	/* Another process's address; the kernel checks it. */
	struct iovec there = { (void *)(uintptr_t)address, here.iov_len };

	if (!lost->count || seep_call_is_refused(SYS_process_vm_writev) ||
	    process_vm_writev((pid_t)pid, &here, 1, &there, 1, 0) != (ssize_t)here.iov_len)
		return 0;
	return lost->count;
}

static bool look(struct seep_ledger *ledger, uint32_t pid, const struct seep_leak_check_plan *plan,
		 struct lost *lost)
{
	const uint32_t kind = LEDGER_GET(ledger->state->scan_kind);
	struct seep_profile *profile = NULL;
	struct seep_error why = { 0 };
	struct seep_leak_scan *scan;
	bool done;

	/* The thread that asks waits as at an end, and exit_tid is its. */
	if (seep_leak_check_scan(ledger, pid, SEEP_SCAN_AT_EXIT, plan, &scan, &why) < 0) {
		if (kind == LEDGER_SCAN_REPORT && plan->report)
			plan->report(NULL, why.text);
		return false;
	}
	done = judge(ledger, scan, plan, &profile) == 0;
	if (done) {
		gather(&scan->result, ledger->view.header.first_row, lost);
		if (kind == LEDGER_SCAN_REPORT && lost->blocks && plan->report)
			plan->report(profile, NULL);
	}
	seep_profile_free(profile);
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
	const uint32_t wanted = LEDGER_GET(state->scan_list_max);
	struct lost lost = { .listed_max = wanted < LIST_MAX ? wanted : LIST_MAX };
	const bool done = look(ledger, pid, plan, &lost);

	atomic_store_explicit(&control->scan_failed, !done, memory_order_relaxed);
	atomic_store_explicit(&control->scan_leaks, lost.blocks, memory_order_relaxed);
	atomic_store_explicit(&control->scan_leak_bytes, lost.bytes, memory_order_relaxed);
	atomic_store_explicit(&control->scan_listed,
			      write_list(pid, LEDGER_GET(state->scan_list), &lost),
			      memory_order_relaxed);
	free(lost.items);
	atomic_store_explicit(&control->scan_answer, request, memory_order_release);
	(void)syscall(SYS_futex, &control->scan_answer, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}
