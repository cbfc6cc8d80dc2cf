/* SPDX-License-Identifier: MIT */
#include "runtime/guard/quarantine.h"

#include "runtime/next/next.h"
#include "runtime/sys/sys.h"
#include "runtime/track/usable.h"

enum { BLOCKS = 1024, PLACES = 16, BLOCK_BYTES_MAX = 512, BLOCK_BYTES_MIN = 24, ALIGNMENT = 16 };

static void *_Atomic *waiting;
static _Atomic uint32_t next;

/* A thread takes several at once. A handler that interrupts this may take the same one. */
static void *_Atomic *place(void)
{
	uint32_t at = rt_tls.waits;

	if (at % PLACES == 0)
		at = atomic_fetch_add_explicit(&next, PLACES, memory_order_relaxed);
	rt_tls.waits = at + 1;
	return &waiting[at % BLOCKS];
}

/* In the second word of each block that waits, as in glibc's thread caches. */
static uintptr_t mark_of(const void *block)
{
	return (uintptr_t)waiting ^ (uintptr_t)block;
}

/* The program may have written what looks like the mark. */
static RT_COLD bool waits(const void *block)
{
	for (uint32_t i = 0; i < BLOCKS; i++)
		if (rt_load(&waiting[i]) == block)
			return true;
	return false;
}

static void quarantine(void *block)
{
	uintptr_t *words = block;
	const uint64_t bytes = block ? rt_usable_of_glibc((uintptr_t)block) : 0;
	void *oldest;

	/* What glibc takes for no block of its own, it is to refuse now. */
	if (bytes < BLOCK_BYTES_MIN || bytes > BLOCK_BYTES_MAX || bytes % ALIGNMENT != 8 ||
	    (uintptr_t)block % ALIGNMENT) {
		rt_found.free(block);
		return;
	}
	/* Freed twice: glibc is to say so, as it would have. */
	if (RT_UNLIKELY(words[1] == mark_of(block)) && waits(block)) {
		rt_found.free(block);
		rt_found.free(block);
		return;
	}
	words[1] = mark_of(block);
	oldest = atomic_exchange_explicit(place(), block, memory_order_acq_rel);
	if (oldest)
		rt_found.free(oldest);
}

bool rt_quarantine_give_back(void)
{
	bool any = false;

	for (uint32_t i = 0; waiting && i < BLOCKS; i++) {
		void *block = rt_load(&waiting[i]) ? atomic_exchange_explicit(&waiting[i], NULL,
									      memory_order_acq_rel)
						   : NULL;

		any |= block != NULL;
		rt_found.free(block);
	}
	return any;
}

void rt_quarantine_start(void)
{
	waiting = rt_global.glibc ? rt_mmap(BLOCKS * sizeof(*waiting)) : NULL;
	if (waiting)
		rt_next.free = quarantine;
}
