/* SPDX-License-Identifier: MIT */
#include "runtime/guard/bare.h"

#include "runtime/guard/fill.h"
#include "runtime/guard/waiting.h"
#include "runtime/next/next.h"
#include "runtime/track/pagemap.h"
#include "runtime/track/usable.h"

enum { PLACES = 1024, BLOCK_BYTES_MAX = 512, BLOCK_BYTES_MIN = 24, ALIGNMENT = 16 };

static bool is_waiting_on;
static uintptr_t glibc_mark; /* 0: not known */

static uintptr_t mark_of(const void *block)
{
	return rt_global.seed ^ (uintptr_t)block;
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

/* Has glibc a block in a cache of freed ones? */
static inline bool is_cached(const void *block)
{
	return glibc_mark && second_word(block) == glibc_mark;
}

/* Freed before, and glibc has not heard of it? The program may have written what looks like the mark. */
static inline bool take_waiting(void *block)
{
	return second_word(block) == mark_of(block) && rt_waiting_take(block);
}

/*
 * Only what is known to be a block, until now: else its header may be anything. A large one's own mapping
 * goes as a whole.
 */
static RT_APART void fill_freed(void *block)
{
	const bool is_known = rt_block_freed((uintptr_t)block).value && !is_cached(block);
	const uint64_t bytes = is_known ? rt_usable_of_glibc((uintptr_t)block) : 0;

	if (!rt_fill_is_fresh(block, bytes))
		rt_fill(block, 0, bytes, rt_fill_freed);
}

static inline void free_once(void *block, bool waits)
{
	if (rt_fill_freed != LEDGER_FILL_NONE)
		fill_freed(block);
	if (!waits) {
		rt_found.free(block);
		return;
	}
	((uintptr_t *)block)[1] = mark_of(block);
	rt_waiting_put(block, BLOCK_BYTES_MAX);
}

/* What is freed twice is glibc's at once: it is to say so, as it would have. */
void rt_bare_free(void *block)
{
	const bool waits = may_wait(block);

	if (waits && take_waiting(block)) {
		rt_found.free(block);
		rt_found.free(block);
	} else if (waits && is_cached(block)) {
		rt_found.free(block);
	} else {
		free_once(block, waits);
	}
}

/* So much of it may be the program's; 0: not known. What is new after a realloc begins behind that. */
static size_t usable_of(void *block)
{
	return rt_global.glibc ? rt_usable_of_glibc((uintptr_t)block)
			       : rt_usable_ask((uintptr_t)block);
}

void *rt_bare_realloc(void *block, size_t size)
{
	const bool waits = is_waiting_on && may_wait(block);
	const size_t held = usable_of(block);
	void *after;

	if (waits && size == 0) {
		rt_bare_free(block);
		return NULL;
	}
	/* glibc is to say that it was freed before. */
	if (waits && take_waiting(block))
		rt_found.free(block);
	do
		after = rt_found.realloc(block, size);
	while (!after && size && rt_waiting_give_back());
	if (after && held)
		rt_fill(after, held, rt_global.glibc ? usable_of(after) : size, rt_fill_fresh);
	return after;
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

bool rt_bare_start(void)
{
	glibc_mark = rt_global.glibc ? find_glibc_mark() : 0;
	is_waiting_on = rt_global.glibc && rt_waiting_start(PLACES, BLOCK_BYTES_MAX, rt_found.free);
	return is_waiting_on;
}
