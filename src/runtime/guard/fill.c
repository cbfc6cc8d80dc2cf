/* SPDX-License-Identifier: MIT */
#include "runtime/guard/fill.h"

#include "ledger/ledger_blocks.h"
#include "runtime/guard/quarantine.h"
#include "runtime/next/next.h"
#include "runtime/sys/sys.h"
#include "runtime/track/usable.h"

#include <errno.h>
#include <string.h>

/* From ASKED_BYTES on it is cheaper to ask which pages are there, PAGES_ASKED at a time. */
enum { PAGE_BYTES = LEDGER_PAGE_BYTES, ASKED_BYTES = 4 * PAGE_BYTES, PAGES_ASKED = 256 };

bool rt_fill_is_on;
static uint8_t fill_byte;

/*
 * Where the kernel does not answer, all of it. It says no of a page that was swapped out, too: such
 * a one is not filled.
 */
static RT_COLD void fill_present(uintptr_t at, uintptr_t end, uint8_t byte)
{
	unsigned char present[PAGES_ASKED];

	while (at < end) {
		uintptr_t page = at & ~(uintptr_t)(PAGE_BYTES - 1);
		uintptr_t stop = core_smaller(end, page + sizeof(present) * PAGE_BYTES);
		bool asked = rt_syscall3(SYS_mincore, (long)page, (long)(stop - page),
					 (long)present) == 0;

		for (size_t i = 0; at < stop; i++) {
			uintptr_t next = core_smaller(stop, page + (i + 1) * PAGE_BYTES);

			/* For zeros only a look tells of one that was swapped out. */
			if (!asked || present[i] & 1 || (!byte && *(const volatile char *)at))
				memset((void *)at, byte, next - at);
			at = next;
		}
	}
}

void rt_fill_with(void *block, size_t from, size_t to, uint8_t byte)
{
	/* Some round a size up until it wraps, and give a small block. */
	if (!block || from >= to || to >> LEDGER_ADDRESS_BITS)
		return;
	if (to - from < ASKED_BYTES)
		memset((char *)block + from, byte, to - from);
	else
		fill_present((uintptr_t)block + from, (uintptr_t)block + to, byte);
}

void rt_fill(void *block, size_t from, size_t to)
{
	rt_fill_with(block, from, to, fill_byte);
}

bool rt_fill_is_fresh(const void *block, size_t size)
{
	/* With a mapping of its own. */
	return size >= ASKED_BYTES && rt_global.glibc &&
	       ((const uint64_t *)block)[-1] & RT_CHUNK_MMAPPED;
}

void rt_fill_block(void *block, size_t size)
{
	if (!block || rt_fill_is_fresh(block, size))
		return;
	rt_fill(block, 0, core_larger(size, rt_usable_at_hand((uintptr_t)block, size, true)));
}

/* What waits in quarantine would be there without it. */
#define TRY(symbol, ...)                                             \
	({                                                           \
		void *made = rt_found.symbol(__VA_ARGS__);           \
                                                                     \
		if (RT_UNLIKELY(!made) && rt_quarantine_give_back()) \
			made = rt_found.symbol(__VA_ARGS__);         \
		made;                                                \
	})

static void *filled_malloc(size_t size)
{
	void *block = TRY(malloc, size);

	rt_fill_block(block, size);
	return block;
}

/* Another allocator's may be its malloc, which is our hook, where that gives zeros by itself. */
static void *zeroed_calloc(size_t count, size_t size)
{
	void *block = TRY(calloc, count, size);

	if (!rt_global.glibc)
		rt_fill_with(block, 0, count * size, 0);
	return block;
}

static void *tried_realloc(void *block, size_t size)
{
	if (rt_quarantine_meets_realloc(block, size))
		return NULL;
	/* Of no bytes it frees, and gives nothing. */
	return size ? TRY(realloc, block, size) : rt_found.realloc(block, size);
}

#define FILLED(symbol, parameters, ...)                 \
	static void *filled_##symbol parameters         \
	{                                               \
		void *block = TRY(symbol, __VA_ARGS__); \
                                                        \
		rt_fill(block, 0, size);                \
		return block;                           \
	}

FILLED(memalign, (size_t alignment, size_t size), alignment, size)
FILLED(aligned_alloc, (size_t alignment, size_t size), alignment, size)
FILLED(valloc, (size_t size), size)
FILLED(pvalloc, (size_t size), size)

static int filled_posix_memalign(void **ret_block, size_t alignment, size_t size)
{
	int failed = rt_found.posix_memalign(ret_block, alignment, size);

	if (RT_UNLIKELY(failed == ENOMEM) && rt_quarantine_give_back())
		failed = rt_found.posix_memalign(ret_block, alignment, size);
	if (!failed)
		rt_fill(*ret_block, 0, size);
	return failed;
}

/* A thread that runs already calls either function: both allocate from the same. */
void rt_fill_start(unsigned fresh, unsigned freed)
{
	rt_quarantine_start(freed);
	if (fresh == LEDGER_FILL_NONE)
		return;
	fill_byte = (uint8_t)fresh;
	rt_fill_is_on = true;
	rt_next.malloc = filled_malloc;
	rt_next.calloc = zeroed_calloc;
	rt_next.realloc = tried_realloc;
	rt_next.memalign = filled_memalign;
	rt_next.aligned_alloc = filled_aligned_alloc;
	rt_next.valloc = filled_valloc;
	rt_next.pvalloc = filled_pvalloc;
	rt_next.posix_memalign = filled_posix_memalign;
}
