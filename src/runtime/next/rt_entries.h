/* SPDX-License-Identifier: MIT */
/*
 * Allocators inside modules whose functions begin with a jump to us: which there are, and what our other
 * hooks make of that. hook/entry.c is what the jumps lead to.
 */
#ifndef SEEP_RUNTIME_RT_ENTRIES_H
#define SEEP_RUNTIME_RT_ENTRIES_H

#include "ledger/ledger_entry.h"
#include "runtime/rt.h"

/* Where the jumps are to lead. */
extern RT_HIDDEN uintptr_t rt_entries_hook;

/* @addresses: of struct ledger_entry_page, LEDGER_ENTRY_MODULES_MAX of them, 0 where there are no more. */
bool rt_entries_are_asked(const uint64_t *addresses);

/*
 * When recording has begun, and before anything leads to us: from now on these are recorded. False: they
 * cannot be in this life.
 */
bool rt_entries_take(const uint64_t *addresses);

/* The function at @address is one of them: it is not to be bound to a hook as well. */
bool rt_entries_have(uintptr_t address);

/* One was entered: the ledger says so, once. */
void rt_entries_note(void);

#endif
