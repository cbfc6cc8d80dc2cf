/* SPDX-License-Identifier: MIT */
/*
 * Allocators inside modules whose functions begin with a jump to us: which there are, and what our other
 * hooks make of that. hook/entry.c is what the jumps lead to.
 */
#ifndef SEEP_RUNTIME_RT_ENTRIES_H
#define SEEP_RUNTIME_RT_ENTRIES_H

#include "ledger/ledger_attach.h"
#include "runtime/rt.h"

/* Where the jumps are to lead. */
extern RT_HIDDEN uintptr_t rt_entries_hook;

/* What is entered is recorded. Who attaches sets it, with all threads stopped and all jumps written. */
extern RT_HIDDEN _Atomic uint64_t rt_entries_led;

/*
 * When recording has begun, and before anything leads to us: answer, if the pages asked for @are_there. No
 * answer: they cannot be recorded in this life.
 */
void rt_entries_take(struct ledger_attach *how, bool are_there);

/* Whatever is still entered is not recorded. */
void rt_entries_leave(void);

/* The function at @address is one of them: it is not to be bound to a hook as well. */
bool rt_entries_have(uintptr_t address);

#endif
