/* SPDX-License-Identifier: MIT */
/*
 * Blocks that the program has freed wait here before the next allocator gets them: it gives small
 * ones out again at once, and a pointer that the program has kept by mistake would then lead to a
 * new owner's block and hide that it is lost. First in, first out, as in valgrind's memcheck
 * (--freelist-vol), but by number. These blocks have no header of ours: what has one waits in
 * guard/waiting.h, which is what guards take. Nobody would pay that for a fill alone.
 */
#ifndef SEEP_RUNTIME_QUARANTINE_H
#define SEEP_RUNTIME_QUARANTINE_H

#include "runtime/rt.h"

/*
 * From now on, and what is freed is filled with the byte @freed, unless that is LEDGER_FILL_NONE. Only
 * with glibc as the next allocator. After rt_next_find().
 */
RT_COLD void rt_quarantine_start(unsigned freed);

/*
 * Before the next realloc. True: @size is 0, and it has freed @block. Of one that waits already glibc
 * is to say that it was freed before, as it would have.
 */
bool rt_quarantine_meets_realloc(void *block, size_t size);

/* Where there is no memory: gives back all that waits. False: nothing did. */
RT_COLD bool rt_quarantine_give_back(void);

#endif
