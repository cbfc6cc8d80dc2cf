/* SPDX-License-Identifier: MIT */
#include "runtime/next/rt_entries.h"

#include "ledger/ledger_blocks.h"
#include "runtime/next/next.h"
#include "runtime/sys/sys.h"

#include <string.h>
#include <sys/mman.h>

uintptr_t rt_entries_hook;
_Atomic uint64_t rt_entries_led;

/* All that were ever made: they stay, since a thread may stand in one. */
RT_EXPORT uint64_t seep_rt_entry_pages[LEDGER_ENTRY_MODULES_MAX];

static const struct ledger_entry_page *taken[LEDGER_ENTRY_MODULES_MAX]; /* in this life */
static _Atomic bool is_noted;

bool rt_entries_are_asked(const struct ledger_attach *how)
{
	return how->entries[0];
}

/* What our own hooks call, such as operator new's, leads past the jump: they record it. */
static void lead_past(const struct ledger_entry *entry)
{
#define CORE_MALLOC(symbol, type, parameters)                       \
	if (entry && (uintptr_t)rt_found.symbol == entry->function) \
		rt_next.symbol = (type(*) parameters)(uintptr_t)entry->next;
#include "core/allocation.def"
}

static const struct ledger_entry *entry_of(uintptr_t address)
{
	for (size_t i = 0; i < LEDGER_ENTRY_MODULES_MAX && taken[i]; i++)
		for (size_t j = 0; j < taken[i]->count && j < LEDGER_ENTRIES_MAX; j++)
			if (taken[i]->items[j].function == address)
				return &taken[i]->items[j];
	return NULL;
}

bool rt_entries_have(uintptr_t address)
{
	return entry_of(address) != NULL;
}

static void restore_next(void)
{
#define CORE_MALLOC(symbol, ...)                         \
	if (rt_entries_have((uintptr_t)rt_found.symbol)) \
		rt_next.symbol = rt_found.symbol;
#include "core/allocation.def"
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

void rt_entries_take(struct ledger_attach *how)
{
	restore_next();
	rt_entries_leave();
	rt_store(&is_noted, false);
	memset(taken, 0, sizeof(taken));
	/* Something of ours is in between, or cells are too large for blocks of others. */
	if (!rt_entries_are_asked(how) || rt_next.malloc != rt_found.malloc ||
	    rt_global.granule_shift != LEDGER_GRANULE_SHIFT_OTHER)
		return;
	for (size_t i = 0; i < LEDGER_ENTRY_MODULES_MAX && how->entries[i]; i++)
		if (!have_page(how->entries[i], how->contents[i]))
			return;
	for (size_t i = 0; i < LEDGER_ENTRY_MODULES_MAX; i++)
		taken[i] = (const struct ledger_entry_page *)how->entries[i];
#define CORE_MALLOC(symbol, ...) lead_past(entry_of((uintptr_t)rt_found.symbol));
#include "core/allocation.def"
	how->led_at = (uintptr_t)&rt_entries_led;
}

void rt_entries_leave(void)
{
	rt_store(&rt_entries_led, 0);
}

void rt_entries_note(void)
{
	if (RT_LIKELY(rt_load(&is_noted)))
		return;
	rt_store(&is_noted, true);
	rt_note_unseen(LEDGER_UNSEEN_MODULES_OWN);
}
