/* SPDX-License-Identifier: MIT */
#include "runtime/life/join.h"

#include "runtime/life/bind.h"
#include "runtime/life/exit.h"
#include "runtime/life/fork.h"
#include "runtime/life/make.h"
#include "runtime/life/phase.h"
#include "runtime/life/start.h"
#include "runtime/next/next.h"
#include "runtime/next/rt_entries.h"
#include "runtime/sys/sys.h"
#include "runtime/track/context.h"
#include "runtime/track/counters.h"
#include "runtime/track/label.h"
#include "runtime/track/misuse.h"
#include "runtime/track/pagemap.h"
#include "runtime/track/scope_handle.h"
#include "runtime/track/thread.h"
#include "runtime/track/tier.h"
#include "runtime/unwind/modules.h"

#include <string.h>
#include <sys/mman.h>

/* All that were ever made: they stay, since a thread may stand in one. */
RT_EXPORT uint64_t seep_rt_entry_pages[LEDGER_ENTRY_MODULES_MAX];

/* The ledger that was left last is not given back yet: somebody was in bookkeeping. */
static bool is_unsettled;

/*
 * Nobody writes to the ledger that was left any more, so its memory and the page map's go. False: a
 * thread is in bookkeeping, and stays there; it may be stopped.
 */
static bool settle(void)
{
	if (!is_unsettled)
		return true;
	if (!rt_threads_are_out())
		return false;
	rt_global.state = &rt_nowhere;
	rt_ledger_leave();
	rt_pagemap_empty();
	is_unsettled = false;
	return true;
}

/* All that is known is of the ledger that was left. Modules may have gone meanwhile. */
static void forget(void)
{
	rt_threads_again();
	rt_tier_forget();
	rt_add(&rt_global.life, 1);
	rt_pagemap_empty();
	rt_early_drop();
	rt_store(&rt_nowhere.unseen, 0);
	rt_store(&rt_global.threshold_bytes, 0);
	rt_contexts_forked();
	rt_labels_forked();
	rt_scope_handles_left();
	rt_findings_forked();
	rt_modules_forked();
	rt_modules_advance();
}

/* For rt_phase_pass(). */
static bool start(const void *argument)
{
	if (rt_leaves)
		forget();
	return rt_start(argument);
}

/* Whoever registers a function twice is called twice. */
static void register_once(void)
{
	static bool is_done;

	if (is_done)
		return;
	is_done = true;
	rt_exit_start();
	rt_fork_register();
	/* A child in our memory that was made before would end it for us. */
	rt_store(&rt_exit_is_shared, 1);
}

static uint32_t mode_before; /* recording was paused */

/*
 * Frees of what is recorded must all be seen, and words are changed one by one: so nothing is recorded
 * while they are.
 */
static void pause_recording(void)
{
	mode_before = rt_load(&rt_mine.control->mode);
	rt_store(&rt_mine.control->mode,
		 (mode_before & ~(uint32_t)LEDGER_MODE_MASK) | LEDGER_MODE_OFF);
}

/* Its contents are there before it can be executed, and before it is known. */
static bool make_page(uint64_t address, const struct ledger_entry_page *contents, uint64_t *known)
{
	struct ledger_entry_page *page = (struct ledger_entry_page *)address;
	const long mapped = rt_syscall6(SYS_mmap, (long)address, LEDGER_ENTRY_PAGE_BYTES,
					PROT_READ | PROT_WRITE,
					MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

	if (mapped != (long)address)
		return false;
	memcpy(page, contents, sizeof(*page));
	for (size_t i = 0; i < page->count && i < LEDGER_ENTRIES_MAX; i++)
		page->items[i].hook = rt_entries_hook;
	if (rt_syscall3(SYS_mprotect, mapped, LEDGER_ENTRY_PAGE_BYTES, PROT_READ | PROT_EXEC) < 0) {
		(void)rt_syscall3(SYS_munmap, mapped, LEDGER_ENTRY_PAGE_BYTES, 0);
		return false;
	}
	*known = address;
	return true;
}

static bool have_page(uint64_t address, uint64_t contents)
{
	for (size_t i = 0; i < LEDGER_ENTRY_MODULES_MAX; i++) {
		if (seep_rt_entry_pages[i] == address)
			return true;
		if (!seep_rt_entry_pages[i])
			return contents &&
			       make_page(address, (const struct ledger_entry_page *)contents,
					 &seep_rt_entry_pages[i]);
	}
	return false;
}

static bool have_pages(const struct ledger_attach *how)
{
	for (size_t i = 0; i < LEDGER_ENTRY_MODULES_MAX && how->entries[i]; i++)
		if (!have_page(how->entries[i], how->contents[i]))
			return false;
	return how->entries[0];
}

static enum ledger_attached detach(struct ledger_attach *how)
{
	struct ledger_state *state = rt_global.state;
	const bool was_seen = !rt_ledger_is_half_made();

	if (!rt_mine.control)
		return LEDGER_ATTACH_ALREADY;
	/* In this order: without a control line, and on, this would be a forked child. */
	(void)rt_phase_end(RT_ON);
	rt_entries_leave();
	__atomic_store_n(&rt_mine.control, NULL, __ATOMIC_RELEASE);
	is_unsettled = true;
	rt_bind(false);
	if (!was_seen)
		rt_ledger_remove();
	(void)rt_threads_are_out();
	rt_store(&state->ended_ns, rt_now_ns());
	rt_store_release(&state->ended, LEDGER_ENDED_DETACH);
	(void)atomic_fetch_add_explicit(&state->attention, 1, memory_order_release);
	rt_futex_wake(&state->attention);
	(void)rt_text(how->ledger, sizeof(how->ledger), rt_ledger_dir, "/", rt_ledger_name);
	(void)settle();
	return was_seen ? LEDGER_ATTACH_DONE : LEDGER_ATTACH_ALREADY;
}

static enum ledger_attached begin_ledger(struct ledger_attach *how)
{
	const struct rt_start first = {
		.options = how->options,
		.dir = how->dir[0] ? how->dir : NULL,
		.arguments = (char *const *)how->arguments,
		.session = how->session,
		.attaches = true,
		.has_entries = how->has_allocator,
	};

	if (!settle())
		return LEDGER_ATTACH_BUSY;
	rt_next_find();
	rt_phase_pass(rt_phase_now(), start, &first);
	if (!rt_mine.control) {
		/* If it was made, and something else could not be. */
		rt_ledger_remove();
		return LEDGER_ATTACH_NO_LEDGER;
	}
	pause_recording();
	register_once();
	how->has_begun = true;
	return LEDGER_ATTACH_MORE;
}

static enum ledger_attached bind(struct ledger_attach *how, bool have_entries)
{
	const bool is_new = rt_ledger_is_half_made();

	if (!is_new)
		pause_recording();
	rt_entries_take(how, have_entries);
	rt_bind(true);
	rt_store_release(&rt_mine.control->mode, mode_before);
	if (is_new && !rt_ledger_publish()) {
		(void)detach(how);
		return LEDGER_ATTACH_NO_LEDGER;
	}
	(void)rt_text(how->ledger, sizeof(how->ledger), rt_ledger_dir, "/", rt_ledger_name);
	return LEDGER_ATTACH_DONE;
}

/* In parts, so that no thread is away for long: to load the library was the first. */
static enum ledger_attached attach(struct ledger_attach *how)
{
	static bool was_called;
	const bool is_loaded = was_called;

	was_called = true;
	if (!is_loaded)
		return LEDGER_ATTACH_MORE;
	if (!rt_control())
		return begin_ledger(how);
	if (how->has_begun || how->gives_up)
		return bind(how, !how->gives_up && have_pages(how));
	if (!rt_ledger_is_half_made())
		return LEDGER_ATTACH_ALREADY;
	/* Whoever has begun was killed. */
	(void)detach(how);
	return LEDGER_ATTACH_MORE;
}

static void answer(struct ledger_attach *how, enum ledger_attached (*act)(struct ledger_attach *))
{
	rt_store_release(&how->result,
			 how->version == LEDGER_VERSION ? act(how) : LEDGER_ATTACH_OTHER_VERSION);
}

RT_EXPORT void seep_rt_attach(struct ledger_attach *how)
{
	answer(how, attach);
}

RT_EXPORT void seep_rt_detach(struct ledger_attach *how)
{
	answer(how, detach);
}
