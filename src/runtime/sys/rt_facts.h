/* SPDX-License-Identifier: MIT */
/*
 * What a leak scan has to know of this process's memory: src/ledger/ledger_facts.h. Private memory,
 * so a forked child goes on with a copy of its own. Lists change one entry at a time, each as a
 * whole: no lock, any thread, any signal, and a hook that is left by longjmp leaves nothing locked.
 */
#ifndef SEEP_RUNTIME_FACTS_H
#define SEEP_RUNTIME_FACTS_H

#include "runtime/rt.h"
#include "ledger/ledger_facts.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

extern RT_HIDDEN struct ledger_facts rt_facts;

/* Once, at the start: the library itself is its own. */
void rt_facts_start(void);

/*
 * Memory of the library: after it was mapped, and before it is unmapped. Ranges that touch become
 * one.
 */
void rt_facts_own(const void *start, size_t bytes);
void rt_facts_disown(const void *start, size_t bytes);

/* The program itself moved the heap's end, and so took memory or gave it back. */
void rt_facts_brk(uintptr_t before, uintptr_t after);

/*
 * A root region of the program's, each as often as it was added. Removing one that is not there is
 * nothing.
 */
void rt_facts_add_region(uintptr_t begin, uintptr_t end);
void rt_facts_remove_region(uintptr_t begin, uintptr_t end);

#endif
