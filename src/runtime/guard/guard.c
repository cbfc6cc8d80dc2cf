/* SPDX-License-Identifier: MIT */
#include "runtime/guard/guard.h"

#include "runtime/guard/bare.h"
#include "runtime/guard/fill.h"
#include "runtime/guard/waiting.h"
#include "runtime/next/next.h"
#include "runtime/sys/rt_facts.h"
#include "runtime/track/guarded.h"
#include "runtime/track/usable.h"

#include <errno.h>
#include <string.h>

enum { PAGE_BYTES = LEDGER_PAGE_BYTES, ALIGNMENT_MAX = 1 << 30 };

/* Beside LEDGER_GUARD_FILL, and 0xfa, which "seep run --fill" takes. */
enum { FREED_BYTE = 0xdd };

enum {
	PLACES_MIN = 1 << 10,
	PLACE_BYTES = 64,  /* hardly a block takes less, with its header */
	LARGEST_SHARE = 4, /* of all that may wait; a larger block would be costly to fill */
};

static uint64_t waits_most_bytes; /* of one block */
static uint64_t check_every;
static _Atomic uint64_t made_count;

RT_INLINE char *take_once(size_t alignment, size_t bytes, bool zeroed)
{
	return zeroed	       ? rt_found.calloc(1, bytes)
	       : alignment > 1 ? rt_found.memalign(alignment, bytes)
			       : rt_found.malloc(bytes);
}

/* What waits would be there without it. */
RT_INLINE char *take(size_t alignment, size_t bytes, bool zeroed)
{
	char *whole;

	if (RT_UNLIKELY(!rt_global.glibc))
		rt_tls.in_guards = true;
	do
		/* Another allocator's calloc may be its malloc, which is our hook. */
		whole = take_once(alignment, bytes, zeroed && rt_global.glibc);
	while (RT_UNLIKELY(!whole) && rt_waiting_give_back());
	if (RT_UNLIKELY(!rt_global.glibc))
		rt_tls.in_guards = false;
	return whole;
}

/* Of @block, which begins in the next allocator's @whole, the bytes up to @to. */
RT_INLINE void fill_new(char *block, const char *whole, size_t to, bool zeroed)
{
	if (zeroed && !rt_global.glibc)
		rt_fill(block, 0, to, 0);
	else if (!zeroed && rt_fill_fresh != LEDGER_FILL_NONE && !rt_fill_is_fresh(whole, to))
		rt_fill(block, 0, to, rt_fill_fresh);
}

/*
 * A program may use all that is usable of malloc's, and have it kept by realloc, which fills from there
 * on.
 */
RT_INLINE void *make_bare(size_t alignment, size_t size, bool zeroed)
{
	char *block = take(alignment, size, zeroed);
	const uint64_t usable = block && !zeroed
					? rt_usable_at_hand((uintptr_t)block, size, alignment == 1)
					: 0;

	if (block)
		fill_new(block, block, core_larger(size, usable), zeroed);
	return block;
}

static RT_APART void *make_guarded(size_t alignment, size_t size, bool zeroed)
{
	const size_t rear_bytes = ledger_guarded_rear_bytes(rt_guard_bytes, size);
	const size_t more = rt_guard_front_bytes + rear_bytes +
			    (alignment > LEDGER_GUARD_ALIGNMENT ? alignment : 0);
	struct ledger_guarded *header;
	char *whole, *block;

	/* As the next allocator says it. */
	if (size > PTRDIFF_MAX - more)
		return rt_found.malloc(PTRDIFF_MAX);
	if (check_every &&
	    atomic_fetch_add_explicit(&made_count, 1, memory_order_relaxed) % check_every ==
		    check_every - 1)
		rt_guard_look();
	whole = take(1, size + more, zeroed);
	if (!whole)
		return NULL;
	block = (char *)(((uintptr_t)whole + rt_guard_front_bytes + alignment - 1) &
			 -(uintptr_t)alignment);
	header = rt_guarded_of(block);
	*header = (struct ledger_guarded){
		.size = size,
		.distance = (uint32_t)((size_t)(block - whole) / LEDGER_GUARD_ALIGNMENT),
	};
	memset(header + 1, LEDGER_GUARD_FILL, rt_guard_bytes);
	memset(block + size, LEDGER_GUARD_FILL, rear_bytes);
	fill_new(block, whole, size, zeroed);
	rt_store_release(&header->tag, ledger_guarded_tag(rt_global.seed, (uintptr_t)block, header,
							  LEDGER_GUARDED_LIVE));
	return block;
}

static RT_COLD void *make_plain(size_t alignment, size_t size, bool zeroed)
{
	rt_note_unseen(LEDGER_UNSEEN_GUARDS_ENDED);
	return make_bare(alignment, size, zeroed);
}

/*
 * An alignment of 1 is malloc's own. What is less than LEDGER_GUARD_ALIGNMENT comes of itself: all in
 * front of a guarded block is a multiple of that.
 */
RT_INLINE void *make(size_t alignment, size_t size, bool zeroed)
{
	/* Between the next allocator's own functions. */
	if (RT_UNLIKELY(rt_tls.in_guards))
		return take_once(alignment, size, zeroed);
	if (RT_LIKELY(!rt_guard_front_bytes))
		return make_bare(alignment, size, zeroed);
	return RT_LIKELY(!rt_load(&rt_guard_is_over)) ? make_guarded(alignment, size, zeroed)
						      : make_plain(alignment, size, zeroed);
}

static void *guarded_malloc(size_t size)
{
	return make(1, size, false);
}

static void *guarded_calloc(size_t count, size_t size)
{
	size_t bytes;

	/* The next one sets errno. */
	if (__builtin_mul_overflow(count, size, &bytes))
		return rt_found.calloc(count, size);
	return make(1, bytes, true);
}

/*
 * It has waited, or does not wait at all. Who frees it once more meets a header that is nobody's, and
 * zeros where glibc has a size: it ends the program for those, and would go astray by a guard's bytes.
 */
static void give_back(void *block)
{
	struct ledger_guarded *header = rt_guarded_of(block);
	const size_t distance = header->distance;

	rt_store(&header->tag, 0);
	memset((char *)block - LEDGER_GUARD_ALIGNMENT, 0, LEDGER_GUARD_ALIGNMENT);
	if (distance)
		rt_found.free((char *)block - distance * LEDGER_GUARD_ALIGNMENT);
}

static void leave(void *block)
{
	if (rt_guarded_check_waiting(block, true))
		give_back(block);
}

static bool check_waiting(void *block)
{
	return rt_guarded_check_waiting(block, false);
}

void rt_guard_look(void)
{
	rt_sampled_look();
	if (!rt_guard_front_bytes)
		return;
	rt_guarded_look();
	rt_waiting_look(check_waiting);
}

/* What is not known to begin anywhere cannot be given back, and what holds too much costs too much. */
static void let_wait(void *block)
{
	const struct ledger_guarded *header = rt_guarded_of(block);
	const uint64_t bytes = rt_guard_front_bytes + header->size +
			       ledger_guarded_rear_bytes(rt_guard_bytes, header->size);

	if (!header->distance || bytes > waits_most_bytes) {
		give_back(block);
		return;
	}
	memset(block, (int)rt_fill_freed, header->size);
	rt_waiting_put(block, bytes);
}

/*
 * Of two threads that free it at once one does. It was freed before, and the next allocator, which
 * would end the program for that, has not heard of it yet: then nothing is done.
 */
static void retire(void *block)
{
	struct ledger_guarded *header = rt_guarded_of(block);
	uint64_t live = ledger_guarded_tag(rt_global.seed, (uintptr_t)block, header,
					   LEDGER_GUARDED_LIVE);

	if (atomic_compare_exchange_strong_explicit(&header->tag, &live,
						    ledger_guarded_tag(rt_global.seed,
								       (uintptr_t)block, header,
								       LEDGER_GUARDED_WAITING),
						    memory_order_acq_rel, memory_order_relaxed))
		let_wait(block);
}

static void guarded_free(void *block)
{
	if (rt_guarded_state(block) == LEDGER_GUARDED_NONE)
		rt_found.free(block);
	else
		retire(block);
}

/* Always another place: who goes on with the old pointer is found out as well. */
static void *guarded_realloc(void *block, size_t size)
{
	void *after;

	if (!block)
		return guarded_malloc(size);
	if (!rt_guard_front_bytes)
		return rt_bare_realloc(block, size);
	if (rt_guarded_state(block) == LEDGER_GUARDED_NONE)
		return rt_found.realloc(block, size);
	/* As glibc does. */
	if (size == 0) {
		retire(block);
		return NULL;
	}
	after = guarded_malloc(size);
	if (after) {
		memcpy(after, block, core_smaller(size, rt_guarded_of(block)->size));
		retire(block);
	}
	return after;
}

/* What is none goes to the next allocator, to be refused or not. */
static bool is_alignment(size_t alignment)
{
	return alignment && !(alignment & (alignment - 1)) && alignment <= ALIGNMENT_MAX;
}

static void *guarded_memalign(size_t alignment, size_t size)
{
	return is_alignment(alignment) ? make(alignment, size, false)
				       : rt_found.memalign(alignment, size);
}

static void *guarded_aligned_alloc(size_t alignment, size_t size)
{
	return is_alignment(alignment) ? make(alignment, size, false)
				       : rt_found.aligned_alloc(alignment, size);
}

static int guarded_posix_memalign(void **ret_block, size_t alignment, size_t size)
{
	void *block;

	if (!is_alignment(alignment) || alignment < sizeof(void *))
		return rt_found.posix_memalign(ret_block, alignment, size);
	block = make(alignment, size, false);
	if (!block)
		return ENOMEM;
	*ret_block = block;
	return 0;
}

static void *guarded_valloc(size_t size)
{
	return make(PAGE_BYTES, size, false);
}

static void *guarded_pvalloc(size_t size)
{
	const size_t up = (size + PAGE_BYTES - 1) & -(size_t)PAGE_BYTES;

	return up < size ? rt_found.pvalloc(size) : make(PAGE_BYTES, up, false);
}

static size_t guarded_malloc_usable_size(void *block)
{
	return rt_guarded_state(block) == LEDGER_GUARDED_NONE ? rt_found.malloc_usable_size(block)
							      : rt_guarded_of(block)->size;
}

/* At most @most_bytes, headers and guards included. */
static void start_waiting(uint64_t most_bytes)
{
	uint64_t count = PLACES_MIN;

	while (count < LEDGER_WAITING_MAX && count * PLACE_BYTES < most_bytes)
		count *= 2;
	if (most_bytes && rt_waiting_start(count, (most_bytes + count - 1) / count, leave))
		waits_most_bytes = most_bytes / LARGEST_SHARE;
}

/* What takes blocks that have headers, before any is made. */
static void start_headers(const struct rt_guard_how *how)
{
	const size_t up = LEDGER_GUARD_ALIGNMENT - 1;

	check_every = how->check_every;
	start_waiting(how->waiting_bytes);
	rt_guard_bytes = (how->guard_bytes + up) & ~up;
	rt_guard_front_bytes = sizeof(struct ledger_guarded) + rt_guard_bytes;
	if (rt_fill_freed == LEDGER_FILL_NONE)
		rt_fill_freed = FREED_BYTE;
	rt_facts.guards.seed = rt_global.seed;
	rt_facts.guards.front_bytes = (uint32_t)rt_guard_front_bytes;
	rt_facts.guards.waiting_byte = rt_fill_freed;
	rt_next.free = guarded_free;
	rt_next.malloc_usable_size = guarded_malloc_usable_size;
}

/* First what takes blocks: another thread may call the others at once. */
void rt_guard_start(const struct rt_guard_how *how)
{
	rt_fill_fresh = how->fresh;
	rt_fill_freed = how->freed;
	if (how->has_headers)
		start_headers(how);
	else if (rt_bare_start())
		rt_next.free = rt_bare_free;
	rt_next.free_sized = NULL;
	rt_next.free_aligned_sized = NULL;
	rt_next.realloc = guarded_realloc;
	atomic_thread_fence(memory_order_seq_cst);
	rt_next.malloc = guarded_malloc;
	rt_next.calloc = guarded_calloc;
	rt_next.memalign = guarded_memalign;
	rt_next.aligned_alloc = guarded_aligned_alloc;
	rt_next.posix_memalign = guarded_posix_memalign;
	rt_next.valloc = guarded_valloc;
	rt_next.pvalloc = guarded_pvalloc;
}
