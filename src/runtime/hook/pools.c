/* SPDX-License-Identifier: MIT */
/*
 * What programs say of their pools: blocks that they cut out of larger ones. Each is noted in the page
 * map as any other is, with a family of its own; nothing is kept of the pool itself.
 */
#include "seep/seep.h"

#include "runtime/hook/hook.h"
#include "runtime/track/guarded.h"
#include "runtime/track/place.h"

/* What lies between guards has headers that say how large it is. */
static bool is_told_apart(void)
{
	return rt_control() && !rt_guard_front_bytes;
}

/*
 * The live @block becomes one of @size bytes, and stays its context's: a free and an allocation of less
 * by the same row. Where that cannot be counted nothing is done.
 */
static void shrink(const struct rt_block *block, uint64_t size, const void *frame)
{
	const uint32_t row = ledger_cell_row(block->value);
	struct rt_thread *thread = rt_thread_self();
	struct ledger_control *control = thread ? rt_enter(thread, frame) : NULL;
	struct ledger_slot *slot = control && rt_row_has_slots(row) ? rt_slot(thread, row) : NULL;

	if (slot) {
		rt_fall(thread, control, block->size - size);
		rt_slot_free(slot, control, block->size);
		rt_slot_alloc(slot, control, size);
		rt_bump(&thread->cache->histogram[rt_bucket(size)], 1);
	}
	/* Of an ancestor's block no figure of ours says what is alive. */
	if (slot || row < rt_load(&rt_mine.first_row))
		rt_block_shrink(block, size);
	if (control)
		rt_leave(thread);
}

RT_EXPORT void seep_rt_pool_add(const void *begin, size_t bytes)
{
	struct rt_block block = { 0 };
	uint64_t size;

	if (is_told_apart() && bytes)
		block = rt_block_around((uintptr_t)begin);
	/* What one stands for goes by its size. */
	if (!block.value || rt_is_sampled((void *)block.address) ||
	    rt_cell_flags(block.value) & RT_CELL_TAKEN)
		return;
	size = (uintptr_t)begin - block.address;
	/* In the cell of a small block there is no room for another one. */
	if (rt_large_at(block.address).cell != block.cell)
		size = core_larger(size, UINT64_C(1) << rt_global.granule_shift);
	if (size < block.size)
		shrink(&block, size, FRAME);
}

RT_EXPORT void seep_rt_pool_alloc(const void *block, size_t bytes)
{
	const struct rt_alloc alloc = rt_alloc(LEDGER_KIND_POOL, 0, LEDGER_CELL_FOREIGN);

	if (!block || !is_told_apart() || rt_is_sampled(block))
		return;
	if (rt_block_has_room((uintptr_t)block, bytes))
		(void)rt_record_whole((void *)block, bytes, alloc, FRAME);
	else
		rt_note_unseen(LEDGER_UNSEEN_UNALIGNED);
}

static void forget(uintptr_t address, const void *frame)
{
	const struct rt_block block = rt_block_at(address, rt_global.granule_shift);

	if (block.value && ledger_cell_family(block.value) == LEDGER_FAMILY_POOL)
		rt_forget_ready((void *)address, rt_free_by(LEDGER_FREEING_NONE), frame);
}

RT_EXPORT void seep_rt_pool_free(const void *block)
{
	if (is_told_apart())
		forget((uintptr_t)block, FRAME);
}

RT_EXPORT void seep_rt_pool_remove(const void *begin, size_t bytes)
{
	const uintptr_t step = 16, leaf_bytes = (uintptr_t)1 << LEDGER_LEAF_SHIFT;
	const uintptr_t most = (uintptr_t)1 << LEDGER_ADDRESS_BITS, from = (uintptr_t)begin;

	if (!is_told_apart() || from >= most)
		return;
	for (uintptr_t at = (from + step - 1) & -step,
		       end = from + core_smaller(bytes, most - from);
	     at < end; at += step)
		if (!rt_leaf_find(at))
			at |= leaf_bytes - step;
		else if (rt_block_may_be(at, rt_global.granule_shift))
			forget(at, FRAME);
}
