/* SPDX-License-Identifier: MIT */
/*
 * Allocators inside modules, whose calls no GOT leads to us: attaching writes a jump over the first
 * instructions of their functions (ledger/ledger_entry.h).
 */
#ifndef SEEP_RUNTIME_ENTRY_H
#define SEEP_RUNTIME_ENTRY_H

#include "ledger/ledger_entry.h"
#include "runtime/rt.h"

/*
 * Before anything leads to us: from now on these are recorded. @addresses: of struct ledger_entry_page,
 * LEDGER_ENTRY_MODULES_MAX of them, 0 where there are no more. False: they cannot be taken in this life.
 */
bool rt_entries_take(const uint64_t *addresses);

/* Some may be taken in this life: blocks are not glibc's alone. */
bool rt_entries_are_asked(const uint64_t *addresses);

/* The function at @address is one of them: it is not to be bound to a hook as well. */
bool rt_entry_is(uintptr_t address);

/* Is the hook at @frame called by an allocator that was entered by its entry? */
bool rt_entry_is_inside(const void *frame);

#endif
