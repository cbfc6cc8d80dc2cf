/* SPDX-License-Identifier: MIT */
#include "target/entries_write.h"

#include "base/xalloc.h"
#include "core/bits.h"
#include "target/stop.h"
#include "target/tracee.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <time.h>

enum {
	JUMP = 0xe9,
	TRIES_MAX = 20,
	STACK_BYTES_MAX = 8 << 20, /* of one thread that are looked through */
	PIECE_BYTES = 64 << 10,
};

/* A jump over a function's beginning, and what stood there. */
struct patch {
	uint64_t at;
	uint8_t jump[LEDGER_ENTRY_PATCH_BYTES], before[LEDGER_ENTRY_PATCH_BYTES];
	uint32_t bytes;
};

struct patches {
	struct patch *items;
	size_t count;
};

static bool poke(pid_t tid, uint64_t at, const void *from, size_t bytes)
{
	for (size_t done = 0; done < bytes; done += sizeof(long)) {
		const size_t part = core_smaller(bytes - done, sizeof(long));
		long word = 0;

		errno = 0;
		if (part < sizeof(word))
			word = ptrace(PTRACE_PEEKTEXT, tid, (void *)(at + done), NULL);
		memcpy(&word, (const char *)from + done, part);
		if (errno || ptrace(PTRACE_POKETEXT, tid, (void *)(at + done), (void *)word) < 0)
			return false;
	}
	return true;
}

static bool has(pid_t tid, uint64_t at, const uint8_t bytes[LEDGER_ENTRY_PATCH_BYTES])
{
	long word;

	errno = 0;
	word = ptrace(PTRACE_PEEKTEXT, tid, (void *)at, NULL);
	return !errno && memcmp(&word, bytes, LEDGER_ENTRY_PATCH_BYTES) == 0;
}

static void add_patches(struct patches *patches, const struct ledger_entry_page *page, uint64_t at)
{
	for (size_t i = 0; i < page->count; i++) {
		const struct ledger_entry *entry = &page->items[i];
		struct patch *patch = SEEP_APPEND(patches->items, patches->count);
		const uint64_t stub = at + offsetof(struct ledger_entry_page, items) +
				      i * sizeof(*entry) + offsetof(struct ledger_entry, stub);
		const int32_t distance =
			(int32_t)(int64_t)(stub - (entry->at + LEDGER_ENTRY_PATCH_BYTES));

		*patch = (struct patch){ .at = entry->at, .jump = { JUMP }, .bytes = entry->bytes };
		memcpy(patch->jump + 1, &distance, sizeof(distance));
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
static bool may_return_inside(const struct patches *patches, struct seep_memory *memory,
			      const struct seep_maps *maps, uint64_t sp)
{
	const struct seep_mapping *stack = seep_maps_find(maps, sp);
	const uint64_t end = stack ? core_smaller(stack->end, sp + STACK_BYTES_MAX) : 0;
	SEEP_FREED uint64_t *words = seep_xcalloc(1, PIECE_BYTES);

	for (uint64_t at = sp & -(uint64_t)sizeof(*words); at < end; at += PIECE_BYTES) {
		const size_t bytes = (size_t)core_smaller(end - at, PIECE_BYTES);

		if (!seep_memory_read(memory, at, words, bytes))
			return true;
		for (size_t i = 0; i < bytes / sizeof(*words); i++)
			if (is_inside(patches, words[i]))
				return true;
	}
	return end == 0;
}

/* NULL: nobody stands where it would not find what it was about to run. */
static const char *look_at_threads(const struct patches *patches,
				   const struct seep_stopped *stopped, struct seep_memory *memory,
				   const struct seep_maps *maps)
{
	for (size_t i = 0; i < stopped->thread_count; i++) {
		const struct seep_thread *thread = &stopped->threads[i];

		if (!thread->stopped)
			return "one of its threads does not stop";
		if (!patches->count)
			continue;
		if (is_inside(patches, thread->registers.rip) ||
		    may_return_inside(patches, memory, maps, thread->registers.rsp))
			return "one of its threads is at their beginning whenever it is stopped";
	}
	return NULL;
}

static void let_go(struct seep_stopped *stopped)
{
	const struct timespec pause = { .tv_nsec = 1000000 };

	seep_stop_release(stopped);
	(void)nanosleep(&pause, NULL);
}

/* All threads stand, and none where @patches are. With none it does not matter where they are. */
static int stop_for(pid_t pid, const struct patches *patches, struct seep_stopped **ret_stopped,
		    struct seep_error *err)
{
	const char *why = NULL;

	for (unsigned tries = 0; tries < TRIES_MAX; tries++) {
		struct seep_maps maps = { 0 };
		struct seep_memory *memory = NULL;
		int rc = seep_memory_open(pid, 0, &memory, err);

		if (rc == 0)
			rc = seep_stop(pid, ret_stopped, err);
		if (rc == 0) {
			rc = seep_maps_read(pid, &maps, err);
			why = rc < 0 ? err->text
				     : look_at_threads(patches, *ret_stopped, memory, &maps);
			if (why)
				let_go(*ret_stopped);
		}
		seep_maps_done(&maps);
		seep_memory_close(memory);
		if (rc < 0 || !why)
			return rc;
	}
	return seep_fail(err, SEEP_EREFUSED, "%s", why);
}

int seep_entries_write(pid_t pid, struct seep_entries *entries, struct seep_error *err)
{
	const struct patches none = { 0 };
	struct seep_stopped *stopped;
	bool done = true;
	int rc = stop_for(pid, &none, &stopped, err);

	if (rc < 0)
		return rc;
	for (size_t i = 0; i < entries->count && done; i++) {
		const struct seep_entry_module *module = &entries->modules[i];
		const size_t bytes = offsetof(struct ledger_entry_page, items) +
				     module->page.count * sizeof(struct ledger_entry);

		done = module->is_there ||
		       poke(stopped->threads[0].tid, module->address, &module->page, bytes);
	}
	seep_stop_release(stopped);
	return done ? 0 : seep_fail(err, SEEP_ESYS, "memory of code cannot be written");
}

/* All or none. */
static bool put_jumps(pid_t tid, const struct patches *patches)
{
	size_t done = 0;

	while (done < patches->count &&
	       (has(tid, patches->items[done].at, patches->items[done].jump) ||
		(has(tid, patches->items[done].at, patches->items[done].before) &&
		 poke(tid, patches->items[done].at, patches->items[done].jump,
		      LEDGER_ENTRY_PATCH_BYTES))))
		done++;
	if (done == patches->count)
		return true;
	while (done-- > 0)
		(void)poke(tid, patches->items[done].at, patches->items[done].before,
			   LEDGER_ENTRY_PATCH_BYTES);
	return false;
}

static bool put_hooks(pid_t tid, const struct seep_entries *entries, uint64_t hook)
{
	for (size_t i = 0; i < entries->count; i++)
		for (size_t j = 0; j < entries->modules[i].page.count; j++)
			if (!poke(tid,
				  entries->modules[i].address +
					  offsetof(struct ledger_entry_page, items) +
					  j * sizeof(struct ledger_entry) +
					  offsetof(struct ledger_entry, hook),
				  &hook, sizeof(hook)))
				return false;
	return true;
}

int seep_entries_lead(pid_t pid, const struct seep_entries *entries, uint64_t hook,
		      uint64_t mode_at, uint64_t mode, struct seep_error *err)
{
	const uint32_t word = (uint32_t)mode;
	struct patches patches = { 0 };
	struct seep_stopped *stopped;
	bool done = false;
	int rc;

	for (size_t i = 0; i < entries->count; i++)
		add_patches(&patches, &entries->modules[i].page, entries->modules[i].address);
	rc = stop_for(pid, &patches, &stopped, err);
	if (rc == 0) {
		const pid_t tid = stopped->threads[0].tid;

		done = put_hooks(tid, entries, hook) && put_jumps(tid, &patches);
		if (done)
			(void)seep_tracee_write(tid, mode_at, &word, sizeof(word));
		seep_stop_release(stopped);
		if (!done)
			rc = seep_fail(err, SEEP_ESYS, "memory of code cannot be written");
	}
	if (!done)
		(void)seep_tracee_write(pid, mode_at, &word, sizeof(word));
	free(patches.items);
	return rc;
}

static bool is_page(const struct seep_mapping *mapping)
{
	return mapping->executable && !mapping->writable && !*mapping->name &&
	       mapping->end - mapping->begin == LEDGER_ENTRY_PAGE_BYTES;
}

bool seep_entries_read(struct seep_memory *memory, const struct seep_mapping *mapping,
		       struct ledger_entry_page *ret_page)
{
	return is_page(mapping) &&
	       seep_memory_read(memory, mapping->begin, ret_page, sizeof(*ret_page)) &&
	       ret_page->magic == LEDGER_ENTRY_MAGIC && ret_page->count <= LEDGER_ENTRIES_MAX;
}

/* Of all pages that are there, those jumps that are as well: what else stands there is not ours. */
static void find_led(const struct seep_maps *maps, struct seep_memory *memory,
		     struct patches *patches)
{
	SEEP_FREED struct ledger_entry_page *page = seep_xmalloc(sizeof(*page));
	size_t kept = 0;

	for (size_t i = 0; i < maps->count; i++)
		if (seep_entries_read(memory, &maps->items[i], page))
			add_patches(patches, page, maps->items[i].begin);
	for (size_t i = 0; i < patches->count; i++) {
		uint8_t there[LEDGER_ENTRY_PATCH_BYTES];
		const struct patch *patch = &patches->items[i];

		if (seep_memory_read(memory, patch->at, there, sizeof(there)) &&
		    memcmp(there, patch->jump, sizeof(there)) == 0)
			patches->items[kept++] = *patch;
	}
	patches->count = kept;
}

int seep_entries_restore(const struct seep_live_modules *modules, struct seep_error *err)
{
	const struct patches none = { 0 };
	struct patches patches = { 0 };
	struct seep_stopped *stopped;
	int rc = 0;

	find_led(&modules->maps, modules->memory, &patches);
	/* A jump is one instruction: nobody stands in the middle of it. */
	if (patches.count)
		rc = stop_for(modules->pid, &none, &stopped, err);
	if (patches.count && rc == 0) {
		for (size_t i = 0; i < patches.count; i++)
			(void)(has(stopped->threads[0].tid, patches.items[i].at,
				   patches.items[i].jump) &&
			       poke(stopped->threads[0].tid, patches.items[i].at,
				    patches.items[i].before, LEDGER_ENTRY_PATCH_BYTES));
		seep_stop_release(stopped);
	}
	free(patches.items);
	return rc;
}

bool seep_entries_are_led(pid_t pid)
{
	struct seep_maps maps = { 0 };
	struct seep_memory *memory = NULL;
	struct patches patches = { 0 };

	if (seep_maps_read(pid, &maps, NULL) == 0 && seep_memory_open(pid, 0, &memory, NULL) == 0)
		find_led(&maps, memory, &patches);
	seep_memory_close(memory);
	seep_maps_done(&maps);
	free(patches.items);
	return patches.count != 0;
}
