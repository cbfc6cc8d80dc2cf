/* SPDX-License-Identifier: MIT */
/*
 * Allocators inside modules, whose calls no GOT leads to us: attaching writes a jump over the first
 * instructions of their functions, which leads to code in entry.c (ledger/ledger_entry.h).
 */
#ifndef SEEP_RUNTIME_ENTRY_H
#define SEEP_RUNTIME_ENTRY_H

#include "runtime/next/rt_entries.h"

/* Is the hook at @frame called by an allocator that was entered by its entry? */
bool rt_entry_is_inside(const void *frame);

#endif
