/* SPDX-License-Identifier: MIT */
/*
 * Blocks without a header of ours: where memory is only filled, nobody would pay for one. What is freed
 * waits only if the next allocator is glibc, whose chunks tell their size, and if it is small; until 1,024
 * others were freed. That it waits shows in its second word, as in glibc's caches.
 */
#ifndef SEEP_RUNTIME_BARE_H
#define SEEP_RUNTIME_BARE_H

#include "runtime/rt.h"

/* False: blocks do not wait, since there is no memory for it or the next allocator is not glibc. */
RT_COLD bool rt_bare_start(void);

/* As free(), once rt_bare_start() has said yes, and as realloc() for a @block. */
void rt_bare_free(void *block);
void *rt_bare_realloc(void *block, size_t size);

#endif
