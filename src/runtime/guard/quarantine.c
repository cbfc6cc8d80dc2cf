/* SPDX-License-Identifier: MIT */
#include "runtime/guard/quarantine.h"

#include "runtime/guard/fill.h"
#include "runtime/next/next.h"
#include "runtime/sys/sys.h"
#include "runtime/track/pagemap.h"
#include "runtime/track/usable.h"

enum { BLOCKS = 1024, PLACES = 16, BLOCK_BYTES_MAX = 512, BLOCK_BYTES_MIN = 24, ALIGNMENT = 16 };

static void *_Atomic *waiting;
static _Atomic uint32_t next;
static uintptr_t glibc_mark; /* 0: not known */
static unsigned fill_byte;   /* LEDGER_FILL_NONE: what is freed stays as it is */

/*
 * A thread takes several at once, and begins with another one of these in each round: threads that
 * free one block and end use all places, too. A handler that interrupts this may take the same one,
 * and has it for less time.
 */
static void *_Atomic *place(void)
{
	uint32_t at = rt_tls.waits;

	if (at % PLACES == 0)
		at = atomic_fetch_add_explicit(&next, PLACES, memory_order_relaxed);
	rt_tls.waits = at + 1;
	return &waiting[at / PLACES * PLACES % BLOCKS + (at + at / BLOCKS) % PLACES];
}

/* In the second word of each block that waits, as in glibc's thread caches. */
static uintptr_t mark_of(const void *block)
{
	return (uintptr_t)waiting ^ (uintptr_t)block;
}

/* As far as glibc would take it for a block of its own: what it would not, it is to refuse now. */
RT_INLINE bool may_wait(const void *block)
{
	const uint64_t bytes = block && (uintptr_t)block % ALIGNMENT == 0
				       ? rt_usable_of_glibc((uintptr_t)block)
				       : 0;

	return bytes >= BLOCK_BYTES_MIN && bytes <= BLOCK_BYTES_MAX && bytes % ALIGNMENT == 8;
}

static inline uintptr_t second_word(const void *block)
{
	return ((const uintptr_t *)block)[1];
}

/* Where it waits, take it out and free it. The program may have written what looks like the mark. */
static RT_COLD bool free_waiting(void *block)
{
	for (uint32_t i = 0; i < BLOCKS; i++) {
		void *expected = block;

		if (rt_load(&waiting[i]) != block ||
		    !atomic_compare_exchange_strong_explicit(&waiting[i], &expected, NULL,
							     memory_order_acq_rel,
							     memory_order_relaxed))
			continue;
		rt_found.free(block);
		return true;
	}
	return false;
}

/* A large one's own mapping goes as a whole. */
static void fill_freed(void *block)
{
	const uint64_t bytes = rt_usable_of_glibc((uintptr_t)block);

	if (!rt_fill_is_fresh(block, bytes))
		rt_fill_with(block, 0, bytes, (uint8_t)fill_byte);
}

static void quarantine(void *block)
{
	const bool waits = may_wait(block);
	/* Only what is known to be a block, until now: else its header may be anything. */
	const bool is_filled = fill_byte != LEDGER_FILL_NONE &&
			       rt_block_freed((uintptr_t)block).value;
	void *oldest = block;

	/* Freed twice: glibc is to say so, as it would have. */
	if (!(waits && second_word(block) == mark_of(block) && free_waiting(block)) &&
	    (waits || is_filled) && !(glibc_mark && second_word(block) == glibc_mark)) {
		if (is_filled)
			fill_freed(block);
		if (waits) {
			((uintptr_t *)block)[1] = mark_of(block);
			oldest = atomic_exchange_explicit(place(), block, memory_order_acq_rel);
		}
	}
	rt_found.free(oldest);
}

bool rt_quarantine_meets_realloc(void *block, size_t size)
{
	if (!waiting || !may_wait(block))
		return false;
	if (size == 0)
		quarantine(block);
	else if (second_word(block) == mark_of(block))
		(void)free_waiting(block);
	return size == 0;
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

/* What glibc from 2.34 on writes into the second word of what is in a cache of freed blocks. */
static uintptr_t find_glibc_mark(void)
{
	uintptr_t *volatile block = rt_found.malloc(BLOCK_BYTES_MIN);
	uintptr_t mark;

	if (!block)
		return 0;
	block[1] = 0;
	rt_found.free(block);
	mark = block[1];
	return mark;
}

void rt_quarantine_start(unsigned freed)
{
	fill_byte = freed;
	waiting = rt_global.glibc ? rt_mmap(BLOCKS * sizeof(*waiting)) : NULL;
	if (!waiting)
		return;
	glibc_mark = find_glibc_mark();
	rt_next.free = quarantine;
}
