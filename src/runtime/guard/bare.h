/* SPDX-License-Identifier: MIT */
/*
 * Blocks without a header of ours: where memory is only filled, nobody would pay for one. How large one is
 * stands where glibc alone has it, so that only its small blocks wait when they are freed, until
 * 1,024 others were. That they do shows in their second word, as in glibc's caches.
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
