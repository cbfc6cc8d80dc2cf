/* SPDX-License-Identifier: MIT */
#include "runtime/life/fork.h"

#include "runtime/guard/waiting.h"
#include "runtime/life/exit.h"
#include "runtime/life/make.h"
#include "runtime/life/phase.h"
#include "runtime/life/rt_options.h"
#include "runtime/life/start.h"
#include "runtime/sys/rt_facts.h"
#include "runtime/sys/sys.h"
#include "runtime/sys/tables.h"
#include "runtime/track/context.h"
#include "runtime/track/counters.h"
#include "runtime/track/label.h"
#include "runtime/track/misuse.h"
#include "runtime/track/scope.h"
#include "runtime/track/scope_handle.h"
#include "runtime/track/thread.h"
#include "runtime/unwind/modules.h"
#include "runtime/unwind/walk.h"

#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

/* Whose sums this process's are added to, if it is small: a page of a parent's ledger. */
static struct ledger_sums *above;

/*
 * What this process leaves to its children, as of its last fork. In a child: what its parent left,
 * until it has a ledger of its own (rt_fork_begin).
 */
static struct {
	bool ledger_stays; /* it is named, in such a child its parent's is: children add to its sums */
	uint32_t mode;
	uint32_t filtered_once;
	uint32_t tier_changes;
	uint64_t size_min_bytes;
	uint64_t size_max_bytes;
} for_children;

static _Atomic bool is_over; /* some thread has ended this process */

static bool is_unnamed(void)
{
	return rt_header.origin == LEDGER_ORIGIN_FORK && !rt_load(&rt_ledger_is_named);
}

static bool is_small(struct rt_sum *ret_sum)
{
	return is_unnamed() && above && !rt_load(&rt_finding_met) &&
	       !rt_load(&rt_global.control->recorder_pid) && rt_sum_all(ret_sum) &&
	       (rt_ledger_is_crowding ||
		(rt_now_ns() - rt_header.created_ns < LEDGER_FORK_NS &&
		 ret_sum->allocs < rt_options.forks && ret_sum->alloc_bytes < LEDGER_FORK_BYTES));
}

static void remember(const struct ledger_control *control)
{
	for_children.mode = rt_load(&control->mode);
	for_children.filtered_once = rt_load(&control->filtered_once);
	for_children.tier_changes = rt_load(&control->tier_changes);
	for_children.size_min_bytes = rt_load(&control->size_min_bytes);
	for_children.size_max_bytes = rt_load(&control->size_max_bytes);
}

void rt_fork_prepare(const void *frame)
{
	const struct ledger_control *control;
	struct rt_sum sum;

	/* A child that is forked while this process's ledger is made is not recorded. */
	if (!rt_mine.control)
		rt_phase_wait();
	control = rt_mine.control;
	if (!control)
		return;
	rt_tls.forks_inside = rt_walk_is_from_us(frame);
	if (!for_children.ledger_stays && !is_small(&sum)) {
		rt_ledger_give_name(true);
		for_children.ledger_stays = true;
	}
	remember(control);
}

/* MAP_SHARED only so that RLIMIT_DATA does not count it. */
static void map_zeros(uintptr_t start, size_t bytes)
{
	(void)rt_syscall6(SYS_mmap, (long)start, (long)bytes, PROT_READ | PROT_WRITE,
			  MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE | MAP_NORESERVE, -1, 0);
}

/* In the place of the parent's ledger, on both sides of the sums, if there are. */
static void replace_ledger(void)
{
	const uintptr_t base = (uintptr_t)rt_global.base;

	map_zeros(base, LEDGER_FIXED_BYTES - LEDGER_PAGE_BYTES);
	map_zeros(base + LEDGER_FIXED_BYTES - LEDGER_PAGE_BYTES, LEDGER_PAGE_BYTES);
	map_zeros(base + LEDGER_FIXED_BYTES, rt_page_up(rt_header.file_bytes) - LEDGER_FIXED_BYTES);
}

/* What a child takes as its first row: the next of its parent's. */
static uint32_t next_row(void)
{
	return rt_global.first_row +
	       (uint32_t)core_smaller(rt_load(&rt_tables[LEDGER_TABLE_ROWS].reserved),
				      rt_header.table[LEDGER_TABLE_ROWS].capacity);
}

static void stay_unrecorded(void)
{
	struct ledger_sums *sums = for_children.ledger_stays ? rt_global.sums : above;

	(void)rt_phase_end(RT_ON);
	if (sums)
		rt_add(&sums->unrecorded, 1);
}

/*
 * In the child of a fork this thread is the only one; its state belongs to the parent's ledger. A
 * signal handler may fork while it interrupts code of ours. When it returns, in the child too, that
 * goes on where it was: it gets zeros in the place of the parent's ledger to go on with. Was a hook
 * in its bookkeeping, such a child is not recorded; nor is one of a parent that was making its ledger.
 */
void rt_forked_child(void)
{
	const uint64_t outer = rt_load(rt_busy_word());
	const bool is_inside = rt_tls.forks_inside;
	uint32_t none = 0;

	/* The kernel has wiped it. Written at once: read first, the page would fault twice. */
	if (!atomic_compare_exchange_strong_explicit(&rt_mine.first_row, &none, next_row(),
						     memory_order_relaxed, memory_order_relaxed))
		return;
	/* Hooks may write to the state before there is a ledger. */
	rt_global.state = &rt_nowhere;
	rt_store(&rt_nowhere.unseen, 0);
	rt_early_drop();
	rt_exit_forked(rt_tls.tid);
	rt_waiting_forked();
	/* What is open stays open. */
	rt_tls = (struct rt_tls){ .ignoring = rt_tls.ignoring,
				  .unrecorded = rt_tls.unrecorded,
				  .scopes = rt_tls.thread ? rt_tls.thread->scopes : rt_tls.scopes };
	rt_scope_handles_forked(rt_tls.scopes);
	if (is_inside)
		replace_ledger();
	if (rt_phase_end(RT_STARTING) || rt_ledger_is_half_made() ||
	    (is_inside && outer && rt_walk_is_inside(__builtin_frame_address(0), outer)))
		stay_unrecorded();
}

void rt_fork_notice(void)
{
	if (rt_load(&rt_mine.first_row))
		return;
	if (rt_gettid() == rt_getpid_or_tid())
		rt_forked_child();
	else if (rt_phase_end(RT_ON))
		stay_unrecorded();
}

/* The ledger that this process was counted in when it was forked is no memory of ours any more. */
static void leave_parent(void)
{
	struct ledger_sums *left = for_children.ledger_stays ? above : rt_global.sums;

	rt_facts_disown(rt_global.base - RT_GUARD_BYTES,
			rt_page_up(rt_header.file_bytes) + (size_t)2 * RT_GUARD_BYTES);
	if (for_children.ledger_stays)
		above = rt_global.sums;
	atomic_signal_fence(memory_order_seq_cst);
	/* Another thread may fork meanwhile: that child adds to sums that are there. */
	for_children.ledger_stays = false;
	if (left) {
		rt_facts_disown(left, LEDGER_PAGE_BYTES);
		(void)rt_syscall3(SYS_munmap, (long)left, LEDGER_PAGE_BYTES, 0);
	}
	if (above)
		rt_facts_own(above, LEDGER_PAGE_BYTES);
}

/* What it takes over from its parent, and forgets of it: threads, contexts, numbers of modules. */
static bool fill(void)
{
	struct ledger_control *control = rt_global.control;

	rt_store(&control->mode, for_children.mode);
	rt_store(&control->filtered_once, for_children.filtered_once);
	rt_store(&control->tier_changes, for_children.tier_changes);
	rt_store(&control->size_min_bytes, for_children.size_min_bytes);
	rt_store(&control->size_max_bytes, for_children.size_max_bytes);
	rt_store(&rt_global.threshold_bytes, 0);
	rt_threads_forked();
	rt_contexts_forked();
	rt_labels_forked();
	rt_scopes_forked();
	rt_findings_forked();
	rt_modules_forked();
	return rt_start_contexts();
}

bool rt_fork_begin(const void *unused)
{
	const uint32_t first_row = rt_load(&rt_mine.first_row);
	bool made;

	(void)unused;
	/* Another thread has made it since this one found none. */
	if (rt_mine.control)
		return true;
	/* Else the nearest ancestor whose ledger stays is what it was. */
	if (for_children.ledger_stays)
		memcpy(rt_header.parent, rt_ledger_name, sizeof(rt_header.parent));
	leave_parent();
	made = first_row < LEDGER_ROW_ID_END - 2 && rt_ledger_make(NULL);
	if (made && !fill()) {
		rt_ledger_remove();
		made = false;
	}
	if (made && rt_options.forks <= 1)
		rt_ledger_give_name(false);
	/*
	 * Of one that lies elsewhere, after setuid() or chroot(), whoever reads the parent's would
	 * not know.
	 */
	if (above && (!made || rt_ledger_moved))
		rt_add(&above->unrecorded, 1);
	if (!made)
		return false;
	rt_store(&is_over, false);
	__atomic_store_n(&rt_mine.control, rt_global.control, __ATOMIC_RELEASE);
	rt_early_settle();
	return true;
}

void rt_fork_give_name(void)
{
	if (rt_control() && is_unnamed() && rt_getpid_or_tid() == rt_header.pid)
		rt_ledger_give_name(true);
}

/* Whoever reads the sums for the last time closes them first, and waits for those who add. */
static bool add_to_sums(struct ledger_sums *sums, const struct rt_sum *sum)
{
	bool is_open;

	(void)atomic_fetch_add_explicit(&sums->adding, 1, memory_order_seq_cst);
	is_open = !atomic_load_explicit(&sums->closed, memory_order_seq_cst);
	if (is_open) {
		/* First: whoever reads the ledger now knows that its figures are counted above. */
		rt_store(&rt_global.state->summed, 1);
		rt_add(&sums->processes, 1);
		rt_add(&sums->allocs, sum->allocs);
		rt_add(&sums->alloc_bytes, sum->alloc_bytes);
		rt_add(&sums->frees, sum->frees);
		rt_add(&sums->freed_bytes, sum->freed_bytes);
		rt_add(&sums->inherited_frees, sum->inherited_frees);
		rt_add(&sums->inherited_freed_bytes, sum->inherited_freed_bytes);
	}
	(void)atomic_fetch_sub_explicit(&sums->adding, 1, memory_order_release);
	return is_open;
}

/* What another thread does from here on would be in no sum. It need not have done anything yet. */
static bool is_alone(void)
{
	struct stat tasks;

	return rt_syscall6(SYS_newfstatat, AT_FDCWD, (long)"/proc/self/task", (long)&tasks, 0, 0,
			   0) == 0 &&
	       tasks.st_nlink == 3; /* the folder, itself in it, and one */
}

bool rt_fork_end(enum ledger_ended ended)
{
	struct rt_sum sum;

	if (!is_unnamed())
		return false;
	/* By another thread. */
	if (ended == LEDGER_ENDED_EXIT &&
	    atomic_exchange_explicit(&is_over, true, memory_order_relaxed))
		return false;
	if (ended == LEDGER_ENDED_EXIT && !for_children.ledger_stays && is_alone() &&
	    is_small(&sum) && add_to_sums(above, &sum)) {
		rt_ledger_remove();
		return true;
	}
	/* Not alone, or large: in a folder that nobody clears it would stay for good. */
	if (ended == LEDGER_ENDED_EXIT && rt_ledger_is_crowding && above) {
		rt_add(&above->unrecorded, 1);
		rt_ledger_remove();
		return true;
	}
	rt_ledger_give_name(false);
	return false;
}

static void at_fork(void)
{
	rt_fork_prepare(__builtin_frame_address(0));
}

void rt_fork_started(void)
{
	for_children.ledger_stays = true;
	remember(rt_mine.control);
}

void rt_fork_register(void)
{
	(void)pthread_atfork(at_fork, NULL, rt_forked_child);
}
