/* SPDX-License-Identifier: MIT */
/*
 * What programs that are built with a sanitizer now and then ask of its allocator: the questions of
 * <sanitizer/allocator_interface.h> that we have answers to. If there is a sanitizer behind us, it has
 * them. All are of what this process allocated itself, or of one block.
 */
#include "runtime/hook/exported.h"
#include "runtime/life/start.h"
#include "runtime/track/pagemap.h"
#include "runtime/track/thread.h"

#define ASKED_OF_ALLOCATOR(symbol, type, parameters, arguments, ours)                         \
	RT_EXPORT type symbol parameters                                                      \
	{                                                                                     \
		rt_next_find();                                                               \
		return rt_next.symbol ? rt_next.symbol arguments : rt_control() ? (ours) : 0; \
	}

/* By the counters, of moments that are near each other. Usable bytes are less where they were not known. */
static size_t live_bytes(bool usable)
{
	int64_t bytes = usable ? -(int64_t)rt_load(&rt_global.state->direct_usable_bytes)
			       : rt_load(&rt_global.state->live_bytes);

	for (uint32_t i = 0; i < rt_load(&rt_threads); i++) {
		const struct ledger_cache *cache = &rt_global.caches[i];

		bytes += usable ? (int64_t)(rt_load(&cache->usable_alloc_bytes) -
					    rt_load(&cache->usable_freed_bytes))
				: rt_load(&cache->sum) + rt_load(&cache->first);
	}
	return bytes > 0 ? (size_t)bytes : 0;
}

static struct rt_block block_at(const volatile void *pointer)
{
	return rt_block_at((uintptr_t)pointer, rt_global.granule_shift);
}

ASKED_OF_ALLOCATOR(__sanitizer_get_current_allocated_bytes, size_t, (void), (), live_bytes(false))
ASKED_OF_ALLOCATOR(__sanitizer_get_heap_size, size_t, (void), (),
		   core_larger(live_bytes(true), live_bytes(false)))
ASKED_OF_ALLOCATOR(__sanitizer_get_allocated_size, size_t, (const volatile void *pointer),
		   (pointer), block_at(pointer).size)
ASKED_OF_ALLOCATOR(__sanitizer_get_ownership, int, (const volatile void *pointer), (pointer),
		   block_at(pointer).value != 0)
