/* SPDX-License-Identifier: MIT */
#include "runtime/track/young_replay.h"

#include "runtime/sys/sys.h"
#include "runtime/track/context.h"
#include "runtime/track/counters.h"
#include "runtime/track/live_peak.h"
#include "runtime/track/pagemap.h"
#include "runtime/track/place.h"
#include "runtime/unwind/memory.h"

static uint32_t row_of(struct rt_thread *thread, const struct ledger_control *control,
		       const struct rt_young_op *op)
{
	struct rt_young_place *place = rt_young_place(op->place);

	if (!op->place)
		return rt_global.first_row;
	if (!place->row) {
		if (!rt_walk_recall(&thread->walk, place->frames, place->count, place->truncated))
			return rt_global.first_row;
		/* Nobody sets marks: the ledger has no name yet. */
		place->row = rt_context_row(thread, place->hash, place->key,
					    rt_load(&control->epoch));
	}
	if (place->truncated)
		rt_add_own(&thread->cache->walks_truncated, 1);
	return place->row;
}

static void replay_alloc(struct rt_thread *thread, struct ledger_control *control,
			 struct rt_young_op *op)
{
	struct ledger_cache *cache = thread->cache;
	struct ledger_slot *slot = NULL;

	op->row = row_of(thread, control, op);
	if (op->row != rt_global.first_row)
		slot = rt_slot(thread, op->row);
	if (!slot) {
		op->row = rt_global.first_row;
		op->usable = 0;
		rt_row_alloc(op->size);
		return;
	}
	if (!rt_row_is_context(op->row))
		rt_add(&rt_global.state->dropped, 1);
	rt_slot_alloc(slot, control, op->size);
	rt_add_own(&cache->histogram[rt_bucket(op->size)], 1);
	rt_add_own(&cache->usable_alloc_bytes, op->usable);
	thread->last_block = op->address;
}

static void replay_free(struct rt_thread *thread, struct ledger_control *control,
			struct rt_young_op *freed, bool may_be_temporary)
{
	struct ledger_cache *cache = thread->cache;
	struct ledger_slot *slot = NULL;

	if (freed->row != rt_global.first_row)
		slot = rt_slot(thread, freed->row);
	if (slot)
		rt_slot_free(slot, control, freed->size);
	else
		rt_row_free(freed->row, freed->size);
	rt_add_own(&cache->usable_freed_bytes, freed->usable);
	if (may_be_temporary && slot && thread->last_block == freed->address) {
		thread->last_block = 0;
		rt_add_own(&slot->temporaries, 1);
		rt_add_own(&cache->temporary_bytes, freed->size);
	}
	/* Nothing stands at its address any more, or another one. */
	freed->address = 0;
}

static void replay_op(struct rt_thread *thread, struct ledger_control *control,
		      struct rt_young_op *op)
{
	struct rt_young_op *freed = &rt_young_log.ops[op->freed];
	uint32_t what = rt_load_acquire(&op->what);
	uint64_t after, before;

	/* Its allocation was left in the middle. */
	if (!(rt_load(&freed->what) & RT_YOUNG_ALLOC))
		what &= ~(uint32_t)RT_YOUNG_FREE;
	after = what & RT_YOUNG_ALLOC ? op->size : 0;
	before = what & RT_YOUNG_FREE ? freed->size : 0;
	rt_now_stands_ns = rt_young.since_ns + op->at_ns;
	if (before > after)
		rt_fall(thread, control, before - after);
	if (what & RT_YOUNG_ALLOC)
		replay_alloc(thread, control, op);
	if (what & RT_YOUNG_FREE)
		replay_free(thread, control, freed, what == RT_YOUNG_FREE);
	if (after > before)
		rt_rise(thread, control, after - before);
	if (what & RT_YOUNG_INHERITED) {
		rt_add_own(&thread->cache->inherited_frees, 1);
		rt_add_own(&thread->cache->inherited_freed_bytes, op->size);
	}
	if (what & RT_YOUNG_UNTRACKED)
		rt_add_own(&thread->cache->untracked_frees, 1);
	/* What of "forked" in the ancestor's ledger is in this one too; after the rows. */
	rt_young_sum(&rt_global.state->young, op, what);
	rt_now_stands_ns = 0;
}

/* The cell of a block that is alive gets its row. */
static void settle(uint32_t i)
{
	const struct rt_young_op *op = &rt_young_log.ops[i];
	struct rt_block at = { 0 };

	if (rt_load(&op->what) & RT_YOUNG_ALLOC && op->address)
		at = rt_block_at(op->address, rt_global.granule_shift);
	if (at.value && ledger_cell_row(at.value) == rt_young.first_id + i)
		rt_store(at.cell, at.value ^ (rt_young.first_id + i) ^ op->row);
}

bool rt_young_replay(const void *frame)
{
	struct rt_thread *thread = rt_thread_make();
	uint32_t count = rt_load(&rt_young.op_count);

	if (!thread)
		return false;
	if (count > RT_YOUNG_OPS)
		count = RT_YOUNG_OPS;
	rt_store(&thread->busy, (uintptr_t)frame);
	rt_add(&rt_global.state->young.processes, 1);
	rt_add_own(&thread->cache->walks_full, rt_load(&rt_young.full_walks));
	rt_add_own(&thread->cache->abandoned, rt_young.abandoned);
	for (uint32_t i = 0; i < count; i++)
		replay_op(thread, rt_global.control, &rt_young_log.ops[i]);
	rt_walk_reset(&thread->walk);
	for (uint32_t i = 0; i < count; i++)
		settle(i);
	rt_leave(thread);
	return true;
}

void rt_young_translate(struct rt_resize *resize)
{
	uint32_t row = ledger_cell_row(resize->cell);
	uint32_t i = row - rt_young.first_id;
	const struct rt_young_op *op = &rt_young_log.ops[i];

	if (!resize->cell || i >= RT_YOUNG_OPS || !(rt_load(&op->what) & RT_YOUNG_ALLOC))
		return;
	resize->cell ^= row ^ op->row;
	resize->usable = op->usable;
}
