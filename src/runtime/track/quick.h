/* SPDX-License-Identifier: MIT */
/*
 * The common case of one operation: a block whose usable size is known without a call, everything
 * recorded, for an allocation the same place as the last one, a counter slot that is at hand. First
 * all is looked at and nothing written but the busy word; if anything is not as usual, record.c
 * does it all. The figures are those of record.c. docs/internals/ledger.md, "Peak", says why the
 * order may differ.
 *
 * Inlined into the hooks for glibc's blocks, called from record.c for others': @quick is a
 * constant.
 */
#ifndef SEEP_RUNTIME_QUICK_H
#define SEEP_RUNTIME_QUICK_H

#include "runtime/track/counters.h"
#include "runtime/track/pagemap.h"
#include "runtime/track/record.h"
#include "runtime/track/thread.h"
#include "runtime/track/usable.h"

/* Not as usual, and nothing changed yet. */
RT_INLINE bool rt_quick_give_up(struct rt_thread *thread)
{
	rt_leave(thread);
	return false;
}

/* Enter, unless this thread is busy further out. Gives the control line, NULL: not so. */
RT_INLINE struct ledger_control *rt_quick_enter(struct rt_thread *thread, const void *frame)
{
	if (RT_UNLIKELY(!thread) || RT_UNLIKELY(rt_load(&thread->busy) != 0))
		return NULL;
	rt_store(&thread->busy, (uintptr_t)frame);
	atomic_signal_fence(memory_order_seq_cst);
	/* Looked at only here: see rt_enter. A state of the parent's finds no slot. */
	if (RT_UNLIKELY(!rt_mine.control))
		(void)rt_quick_give_up(thread);
	return rt_mine.control;
}

RT_INLINE void rt_quick_leave(struct rt_thread *thread, const struct ledger_control *control,
			      struct ledger_slot *slot, uint64_t turn, int64_t blocks,
			      int64_t bytes)
{
	atomic_signal_fence(memory_order_seq_cst);
	if (RT_UNLIKELY(rt_load(&control->peak_turn) != turn))
		rt_slot_leave(thread, slot, turn, blocks, bytes);
	else
		rt_store(&thread->busy, 0);
}

/* The slot of @row if it stands at its home with the figures of the present turn; else NULL. */
RT_INLINE struct ledger_slot *rt_quick_slot(struct rt_thread *thread, uint32_t row, uint64_t turn)
{
	struct ledger_slot *slot = &thread->slots[row & thread->slot_mask];

	if (RT_UNLIKELY(rt_load(&slot->row) != row) || RT_UNLIKELY(rt_load(&slot->turn) < turn))
		return NULL;
	return slot;
}

/* The same place, kind and epoch as the last allocation's? Then its row is this one's too. */
RT_INLINE bool rt_quick_repeats(struct rt_thread *thread, const struct ledger_control *control,
				struct rt_alloc what, const void *frame)
{
	return rt_walk_repeats(&thread->walk, frame) &&
	       RT_LIKELY(rt_load(&control->mode) == LEDGER_MODE_ALL) &&
	       RT_LIKELY(thread->last_row.key.word == what.key.word) &&
	       RT_LIKELY(thread->last_row.epoch == rt_load(&control->epoch)) &&
	       RT_LIKELY(!thread->walk.truncated);
}

RT_INLINE unsigned rt_quick_granule(enum rt_quick quick)
{
	return quick == RT_QUICK_GLIBC ? LEDGER_GRANULE_SHIFT_GLIBC : LEDGER_GRANULE_SHIFT_OTHER;
}

/* 0: not known without a call. */
RT_INLINE uint64_t rt_quick_usable(enum rt_quick quick, uintptr_t address, uint64_t size,
				   bool classed)
{
	if (quick == RT_QUICK_GLIBC)
		return rt_usable_of_glibc(address);
	return classed ? rt_usable_by_class(size) : 0;
}

/*
 * Count @block under @row, and leave. In bookkeeping. False: nothing was done, for want
 * of a cell (NULL has none) or a slot.
 */
RT_INLINE bool rt_quick_count(enum rt_quick quick, struct rt_thread *thread,
			      struct ledger_control *control, uint32_t row, void *block,
			      size_t size, struct rt_alloc what)
{
	struct ledger_cache *cache = thread->cache;
	uint64_t field;
	rt_cell *cell = rt_block_ready((uintptr_t)block, size, rt_quick_granule(quick), &field);
	uint64_t turn = rt_load(&control->peak_turn);
	struct ledger_slot *slot = rt_quick_slot(thread, row, turn);
	_Atomic int64_t *total;
	uint64_t usable;
	int64_t sum;

	if (RT_UNLIKELY(!cell) || RT_UNLIKELY(!slot) ||
	    RT_UNLIKELY(what.cell & LEDGER_CELL_FOREIGN))
		return false;
	usable = rt_quick_usable(quick, (uintptr_t)block, size, what.cell & LEDGER_CELL_CLASSED);
	if (quick != RT_QUICK_GLIBC && RT_UNLIKELY(!usable))
		return false;
	if (RT_LIKELY(rt_load(&control->caches) == 1)) {
		total = &cache->first;
		sum = rt_load(total) + (int64_t)size;
	} else {
		total = &cache->sum;
		sum = rt_load(total) + (int64_t)size;
		if (RT_UNLIKELY(sum >= rt_load(&rt_global.threshold_bytes)))
			return false;
	}
	atomic_signal_fence(memory_order_acq_rel);
	rt_add_own(&slot->allocs, 1);
	rt_add_own(&slot->alloc_bytes, size);
	rt_store(total, sum);
	rt_add_own(&cache->histogram[core_bit_width(size)], 1);
	rt_add_own(&cache->usable_alloc_bytes, usable);
	rt_store(cell, rt_cell_value((uintptr_t)block, row, field, what.cell));
	thread->last_block = (uintptr_t)block;
	rt_quick_leave(thread, control, slot, turn, 1, (int64_t)size);
	return true;
}

/* False: nothing was done. */
RT_INLINE bool rt_quick_record(enum rt_quick quick, void *block, size_t size, struct rt_alloc what,
			       const void *frame)
{
	struct rt_thread *thread = rt_tls.thread;
	struct ledger_control *control;

	if (RT_UNLIKELY(rt_load(&rt_global.quick) != quick))
		return false;
	/* From another place than the last: not worth entering. Looked at again then. */
	if (RT_UNLIKELY(!thread) || thread->walk.leaf != (uintptr_t)frame + sizeof(uintptr_t))
		return false;
	control = rt_quick_enter(thread, frame);
	if (RT_UNLIKELY(!control))
		return false;
	if (!rt_quick_repeats(thread, control, what, frame) ||
	    RT_UNLIKELY(!rt_quick_count(quick, thread, control, thread->last_row.row, block, size,
					what)))
		return rt_quick_give_up(thread);
	return true;
}

/* False: nothing was done. */
RT_INLINE bool rt_quick_forget(enum rt_quick quick, void *block, const void *frame)
{
	uintptr_t address = (uintptr_t)block;
	struct rt_thread *thread = rt_tls.thread;
	struct ledger_control *control;
	struct ledger_cache *cache;
	struct ledger_slot *slot;
	_Atomic int64_t *total;
	uint64_t usable, turn;
	struct rt_block at;
	bool temporary;
	int64_t sum;

	if (RT_UNLIKELY(rt_load(&rt_global.quick) != quick))
		return false;
	control = rt_quick_enter(thread, frame);
	if (RT_UNLIKELY(!control))
		return false;
	at = rt_block_at(address, rt_quick_granule(quick));
	turn = rt_load(&control->peak_turn);
	/* An ancestor's row has no slot; row 0, where there is no block, may find an empty one. */
	slot = rt_quick_slot(thread, ledger_cell_row(at.value), turn);
	cache = thread->cache;
	temporary = thread->last_block == address;
	if (RT_UNLIKELY(!at.value) ||
	    RT_UNLIKELY(ledger_cell_flags(at.value) & LEDGER_CELL_FOREIGN) || RT_UNLIKELY(!slot) ||
	    RT_UNLIKELY(rt_load(&control->filtered_once)) ||
	    (temporary && RT_UNLIKELY(rt_load(&slot->temporaries) >> 31)))
		return rt_quick_give_up(thread);
	/* After the cell: what is no block of ours may have no readable word before it. */
	usable = rt_quick_usable(quick, address, at.size,
				 ledger_cell_flags(at.value) & LEDGER_CELL_CLASSED);
	if (quick != RT_QUICK_GLIBC && RT_UNLIKELY(!usable))
		return rt_quick_give_up(thread);
	if (RT_LIKELY(rt_load(&control->caches) == 1)) {
		total = &cache->first;
		sum = rt_load(total);
		if (RT_UNLIKELY(sum + rt_load(&rt_global.state->live_bytes) >
				rt_load(&rt_global.state->peak_bytes)))
			return rt_quick_give_up(thread);
		sum -= (int64_t)at.size;
	} else {
		total = &cache->sum;
		sum = rt_load(total) - (int64_t)at.size;
		if (RT_UNLIKELY(sum <= -rt_load(&rt_global.threshold_bytes)))
			return rt_quick_give_up(thread);
	}
	rt_store(at.cell, rt_cell_freed(at.value));
	rt_store(total, sum);
	atomic_signal_fence(memory_order_acq_rel);
	rt_add_own(&slot->frees, 1);
	rt_add_own(&slot->freed_bytes, at.size);
	rt_add_own(&cache->usable_freed_bytes, usable);
	if (temporary) {
		thread->last_block = 0;
		rt_add_own(&slot->temporaries, 1);
		rt_add_own(&cache->temporary_bytes, at.size);
	}
	rt_quick_leave(thread, control, slot, turn, -1, -(int64_t)at.size);
	return true;
}

#endif
