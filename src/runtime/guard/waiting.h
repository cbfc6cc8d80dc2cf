/* SPDX-License-Identifier: MIT */
/*
 * Quarantine: blocks that the program has freed wait here before the next allocator gets them. It gives
 * small ones out again at once: who writes to one would harm a new owner's block, and a pointer to it
 * that the program has kept by mistake would lead there, and hide that it is lost. First in, first out,
 * as in valgrind's memcheck (--freelist-vol).
 *
 * It is a ring of places. A block takes one, and one before that, which stays empty, for each further
 * place_bytes; what was in them leaves. So it waits until as many bytes have come after it as there are
 * places for. Where a place is as large as any block, that is a number of blocks.
 */
#ifndef SEEP_RUNTIME_WAITING_H
#define SEEP_RUNTIME_WAITING_H

#include "runtime/rt.h"

enum { RT_WAITING_BATCH = 16 }; /* places that a thread takes at once */

/* @places: a power of two, RT_WAITING_BATCH at least. @leave gives a block back. False: there is no memory. */
RT_COLD bool rt_waiting_start(uint64_t places, uint64_t place_bytes, void (*leave)(void *block));

/* From now on @block, of @bytes, is ours. */
void rt_waiting_put(void *block, uint64_t bytes);

/* Does it wait? Then not any more, and it is the caller's. Looks at all places. */
RT_APART bool rt_waiting_take(void *block);

/*
 * Where there is no memory: what has waited longest leaves. To be called again while there is none, until
 * it returns false: nothing waited. All these calls together look at a place once after each put.
 */
RT_COLD bool rt_waiting_give_back(void);

/*
 * Calls @check with each block that this process has put here, and that nobody else can take meanwhile.
 * False: it is never given back. Not in bookkeeping.
 */
RT_COLD void rt_waiting_look(bool (*check)(void *block));

/* In a forked child: what waits was put here by its parent, which looks at it, and leaves as ever. */
void rt_waiting_forked(void);

#endif
