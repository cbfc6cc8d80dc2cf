/* SPDX-License-Identifier: MIT */
#include "runtime/next/rt_entries.h"

#include "ledger/ledger_blocks.h"
#include "runtime/next/next.h"

#include <string.h>

uintptr_t rt_entries_hook;
_Atomic uint64_t rt_entries_led;

static const struct ledger_entry_page *taken[LEDGER_ENTRY_MODULES_MAX]; /* in this life */

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

void rt_entries_take(struct ledger_attach *how, bool are_there)
{
	restore_next();
	rt_entries_leave();
	memset(taken, 0, sizeof(taken));
	/* Something of ours is in between, or cells are too large for blocks of others. */
	if (!are_there || rt_next.malloc != rt_found.malloc ||
	    rt_global.granule_shift != LEDGER_GRANULE_SHIFT_OTHER)
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
