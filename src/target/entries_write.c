/* SPDX-License-Identifier: MIT */
#include "target/entries_write.h"

#include "base/clock.h"
#include "base/xalloc.h"
#include "core/bits.h"
#include "target/stop.h"
#include "target/tracee.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
	STACK_BYTES_MAX = 32 << 20, /* of all threads that are looked through */
	PIECE_BYTES = 64 << 10,
};

#define ANSWER_NS UINT64_C(20000000) /* for a thread to stop, while others stand */

/* A jump over a function's beginning, and what stood there. */
struct patch {
	uint64_t at, page;
	uint8_t jump[LEDGER_ENTRY_PATCH_BYTES], before[LEDGER_ENTRY_BEFORE_BYTES];
	uint32_t bytes;
};

struct patches {
	struct patch *items;
	size_t count;
};

/* All threads of a process that are stopped, for as short as can be. */
struct halt {
	pid_t pid;
	struct seep_memory *memory;
	struct seep_attach_result *result;
	struct seep_stopped *stopped;
	uint64_t left_bytes; /* of stacks that may be looked through */
};

/* @bytes: at most LEDGER_ENTRY_BEFORE_BYTES */
static bool has(pid_t tid, uint64_t at, const uint8_t *bytes, size_t count)
{
	uint8_t there[LEDGER_ENTRY_BEFORE_BYTES];

	return seep_tracee_peek(tid, at, there, count) && memcmp(there, bytes, count) == 0;
}

static bool has_jump(pid_t tid, const struct patch *patch)
{
	return has(tid, patch->at, patch->jump, LEDGER_ENTRY_PATCH_BYTES);
}

/* Exec may have put another program there, where nothing is ours. */
static bool is_ours(pid_t tid, const struct patch *patch)
{
	uint64_t magic;

	return seep_tracee_peek(tid, patch->page, &magic, sizeof(magic)) &&
	       magic == LEDGER_ENTRY_MAGIC;
}

/* Nothing but a jump of ours may have changed since. */
static bool is_as_found(pid_t tid, const struct patch *patch)
{
	return is_ours(tid, patch) &&
	       (has(tid, patch->at, patch->before, patch->bytes) ||
		(has_jump(tid, patch) && has(tid, patch->at + LEDGER_ENTRY_PATCH_BYTES,
					     patch->before + LEDGER_ENTRY_PATCH_BYTES,
					     patch->bytes - LEDGER_ENTRY_PATCH_BYTES)));
}

/* The process may have written anything into the page. */
static void add_patches(struct patches *patches, const struct ledger_entry_page *page, uint64_t at)
{
	for (size_t i = 0; i < page->count; i++) {
		const struct ledger_entry *entry = &page->items[i];
		struct patch *patch;

		if (entry->bytes < LEDGER_ENTRY_PATCH_BYTES ||
		    entry->bytes > LEDGER_ENTRY_BEFORE_BYTES)
			continue;
		patch = SEEP_APPEND(patches->items, patches->count);
		*patch = (struct patch){ .at = entry->at, .page = at, .bytes = entry->bytes };
		seep_entry_jump(entry, at, i, patch->jump);
		memcpy(patch->before, entry->before, sizeof(patch->before));
	}
}

/* Behind the first instruction of one, whose place a jump is to take. */
static bool is_inside(const struct patches *patches, uint64_t pc)
{
	for (size_t i = 0; i < patches->count; i++)
		if (pc - patches->items[i].at - 1 < patches->items[i].bytes - UINT64_C(1))
			return true;
	return false;
}

/* A handler may have interrupted the thread there: where it goes on stands on its stack. */
static bool may_return_inside(struct halt *halt, const struct patches *patches,
			      const struct seep_maps *maps, uint64_t sp)
{
	const struct seep_mapping *stack = seep_maps_find(maps, sp);
	SEEP_FREED uint64_t *words = seep_xmalloc(PIECE_BYTES);
	uint64_t at = sp & -(uint64_t)sizeof(*words);

	while (stack && at < stack->end && halt->left_bytes) {
		const size_t bytes = (size_t)core_smaller(
			core_smaller(stack->end - at, PIECE_BYTES), halt->left_bytes);

		if (!seep_memory_read(halt->memory, at, words, bytes))
			return true;
		for (size_t i = 0; i < bytes / sizeof(*words); i++)
			if (is_inside(patches, words[i]))
				return true;
		at += bytes;
		halt->left_bytes -= bytes;
	}
	return !stack || at < stack->end;
}

/* NULL: nobody stands where it would not find what it was about to run; anywhere, without @patches. */
static const char *look_at_threads(struct halt *halt, const struct patches *patches,
				   const struct seep_maps *maps, bool *ret_again)
{
	*ret_again = false;
	for (size_t i = 0; i < halt->stopped->thread_count; i++)
		if (!halt->stopped->threads[i].stopped)
			return "one of its threads does not stop";
	for (size_t i = 0; patches && i < halt->stopped->thread_count; i++) {
		const struct user_regs_struct *registers = &halt->stopped->threads[i].registers;

		if (!is_inside(patches, registers->rip) &&
		    !may_return_inside(halt, patches, maps, registers->rsp))
			continue;
		*ret_again = halt->left_bytes != 0;
		return halt->left_bytes ? "one of its threads is at their beginning whenever it is "
					  "stopped"
					: "the stacks of its threads are too deep to look through";
	}
	return NULL;
}

static void let_go(struct halt *halt)
{
	const uint64_t ns = seep_monotonic_ns() - halt->stopped->began_ns;

	seep_stop_release(halt->stopped);
	halt->stopped = NULL;
	halt->result->stopped_ns += ns;
	halt->result->longest_ns = core_larger(halt->result->longest_ns, ns);
}

/* All threads stand, and none where @patches are. What can be found out before they do is. */
static int stop(struct halt *halt, const struct patches *patches, uint64_t deadline_ns,
		struct seep_error *err)
{
	const struct timespec pause = { .tv_nsec = 1000000 };
	const char *why;
	bool again;

	do {
		struct seep_maps maps = { 0 };
		int rc = seep_maps_read(halt->pid, &maps, err);

		halt->left_bytes = STACK_BYTES_MAX;
		if (rc == 0)
			rc = seep_stop_briefly(halt->pid, ANSWER_NS, &halt->stopped, err);
		why = rc == 0 ? look_at_threads(halt, patches, &maps, &again) : NULL;
		seep_maps_done(&maps);
		if (!why)
			return rc;
		let_go(halt);
		(void)nanosleep(&pause, NULL);
	} while (again && seep_monotonic_ns() < deadline_ns);
	return seep_fail(err, SEEP_EREFUSED, "%s", why);
}

/* All or none. */
static int put_jumps(pid_t tid, const struct patches *patches, uint64_t led_at,
		     struct seep_error *err)
{
	const uint64_t led = 1;
	size_t done = 0;

	for (size_t i = 0; i < patches->count; i++)
		if (!is_as_found(tid, &patches->items[i]))
			return seep_fail(err, SEEP_EREFUSED, "its code has changed meanwhile");
	while (done < patches->count &&
	       seep_tracee_poke(tid, patches->items[done].at, patches->items[done].jump,
				LEDGER_ENTRY_PATCH_BYTES))
		done++;
	if (done == patches->count && seep_tracee_poke(tid, led_at, &led, sizeof(led)))
		return 0;
	/* Of the one that failed a part may have been written. */
	for (size_t i = 0; i <= done && i < patches->count; i++)
		(void)seep_tracee_poke(tid, patches->items[i].at, patches->items[i].before,
				       LEDGER_ENTRY_PATCH_BYTES);
	return seep_fail(err, SEEP_ESYS, "memory of code cannot be written");
}

int seep_entries_lead(pid_t pid, const struct seep_entries *entries, uint64_t led_at,
		      uint64_t deadline_ns, struct seep_attach_result *result,
		      struct seep_error *err)
{
	struct halt halt = { .pid = pid, .result = result };
	struct patches patches = { 0 };
	int rc = seep_memory_open(pid, 0, &halt.memory, err);

	for (size_t i = 0; i < entries->count; i++)
		add_patches(&patches, &entries->modules[i].page, entries->modules[i].address);
	if (rc == 0)
		rc = stop(&halt, &patches, deadline_ns, err);
	if (rc == 0) {
		rc = put_jumps(halt.stopped->threads[0].tid, &patches, led_at, err);
		let_go(&halt);
	}
	free(patches.items);
	seep_memory_close(halt.memory);
	return rc;
}

bool seep_entries_read(struct seep_memory *memory, uint64_t address,
		       struct ledger_entry_page *ret_page)
{
	return address && seep_memory_read(memory, address, ret_page, sizeof(*ret_page)) &&
	       ret_page->magic == LEDGER_ENTRY_MAGIC && ret_page->count <= LEDGER_ENTRIES_MAX;
}

/* Those jumps that are there: what else stands there is not ours. */
static void find_led(struct seep_memory *memory, const struct seep_entry_pages *pages,
		     struct patches *patches)
{
	SEEP_FREED struct ledger_entry_page *page = seep_xmalloc(sizeof(*page));
	size_t kept = 0;

	for (size_t i = 0; i < LEDGER_ENTRY_MODULES_MAX; i++)
		if (seep_entries_read(memory, pages->items[i], page))
			add_patches(patches, page, pages->items[i]);
	for (size_t i = 0; i < patches->count; i++) {
		uint8_t there[LEDGER_ENTRY_PATCH_BYTES];
		const struct patch *patch = &patches->items[i];

		if (seep_memory_read(memory, patch->at, there, sizeof(there)) &&
		    memcmp(there, patch->jump, sizeof(there)) == 0)
			patches->items[kept++] = *patch;
	}
	patches->count = kept;
}

int seep_entries_restore(pid_t pid, const struct seep_entry_pages *pages,
			 struct seep_attach_result *result, size_t *ret_count,
			 struct seep_error *err)
{
	struct halt halt = { .pid = pid, .result = result };
	struct patches patches = { 0 };
	int rc = seep_memory_open(pid, 0, &halt.memory, err);

	if (rc == 0)
		find_led(halt.memory, pages, &patches);
	*ret_count = patches.count;
	/* A jump is one instruction: nobody stands in the middle of it. */
	if (rc == 0 && patches.count) {
		rc = stop(&halt, NULL, 0, err);
		for (size_t i = 0; rc == 0 && i < patches.count; i++) {
			const pid_t tid = halt.stopped->threads[0].tid;
			const struct patch *patch = &patches.items[i];

			if (is_ours(tid, patch) && has_jump(tid, patch) &&
			    !seep_tracee_poke(tid, patch->at, patch->before,
					      LEDGER_ENTRY_PATCH_BYTES))
				rc = seep_fail(err, SEEP_ESYS, "memory of code cannot be written");
		}
		if (halt.stopped)
			let_go(&halt);
	}
	free(patches.items);
	seep_memory_close(halt.memory);
	return rc;
}
