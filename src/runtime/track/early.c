/* SPDX-License-Identifier: MIT */
#include "runtime/track/early.h"

#include "runtime/track/counters.h"
#include "runtime/track/pagemap.h"
#include "runtime/track/thread.h"

enum { ALLOCS, ALLOC_BYTES, FREES, FREED_BYTES, INHERITED, INHERITED_BYTES, UNTRACKED, SUMS };

static _Atomic uint64_t sums[SUMS];
static _Atomic uint32_t waiting; /* something was added since */

static void add(unsigned which, uint64_t bytes)
{
	rt_add(&sums[which], 1);
	rt_add(&sums[which + 1], bytes);
}

static uint64_t take(unsigned which)
{
	return atomic_exchange_explicit(&sums[which], 0, memory_order_relaxed);
}

bool rt_early_take(struct rt_sum *ret_sum)
{
	if (!atomic_exchange_explicit(&waiting, 0, memory_order_acquire))
		return false;
	*ret_sum = (struct rt_sum){
		.allocs = take(ALLOCS),
		.alloc_bytes = take(ALLOC_BYTES),
		.frees = take(FREES),
		.freed_bytes = take(FREED_BYTES),
		.inherited_frees = take(INHERITED),
		.inherited_freed_bytes = take(INHERITED_BYTES),
	};
	return true;
}

void rt_early_settle(void)
{
	struct rt_thread *thread = rt_mine.control ? rt_thread_self() : NULL;
	struct rt_sum sum;
	uint64_t untracked;

	if (!thread || !rt_early_take(&sum))
		return;
	untracked = take(UNTRACKED);
	rt_direct_early(&sum);
	rt_add(&thread->cache->inherited_frees, sum.inherited_frees);
	rt_add(&thread->cache->inherited_freed_bytes, sum.inherited_freed_bytes);
	rt_add(&thread->cache->untracked_frees, untracked);
	rt_add(&rt_global.state->early, sum.allocs + sum.frees + sum.inherited_frees + untracked);
}

static void added(void)
{
	rt_store_release(&waiting, 1);
	/* It may have come meanwhile. */
	rt_early_settle();
}

void rt_early_alloc(void *block, size_t size, uint32_t flags)
{
	add(ALLOCS, size);
	rt_block_note((uintptr_t)block, rt_load(&rt_mine.first_row), size, flags);
	added();
}

void rt_early_freed(uint64_t cell, uint64_t size)
{
	if (!cell)
		rt_add(&sums[UNTRACKED], 1);
	else if (ledger_cell_row(cell) == rt_load(&rt_mine.first_row))
		add(FREES, size);
	else
		add(INHERITED, size);
	added();
}
