/* SPDX-License-Identifier: MIT */
/*
 * The common case of one operation: a block whose usable size is known without a call, everything
 * is recorded, a counter slot is at hand, and an allocation comes from the same place as the last
 * walk that was kept. First all is looked at and nothing written but the busy word; if anything is
 * not as usual, record.c does it all. The figures are those of record.c. docs/internals/ledger.md,
 * "Peak", says why the order may differ.
 *
 * Inlined into the hooks for glibc's blocks, called from record.c for others': @quick is a
 * constant.
 */
#ifndef SEEP_RUNTIME_QUICK_H
#define SEEP_RUNTIME_QUICK_H

#include "runtime/track/counters.h"
#include "runtime/track/live_peak.h"
#include "runtime/track/pagemap.h"
#include "runtime/track/record.h"
#include "runtime/track/scope.h"
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
	struct ledger_control *control;

	if (RT_UNLIKELY(!thread) || RT_UNLIKELY(rt_load(&thread->busy) != 0))
		return NULL;
	rt_store(&thread->busy, (uintptr_t)frame);
	atomic_signal_fence(memory_order_seq_cst);
	/*
	 * Looked at only here, and once: see rt_enter. In a child forked since, the state is the
	 * parent's: its slots read zero, and rt_quick_count() and rt_quick_forget() give up.
	 */
	control = rt_mine.control;
	if (RT_UNLIKELY(!control))
		rt_leave(thread);
	return control;
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

RT_INLINE unsigned rt_quick_granule(enum rt_quick quick)
{
	return quick == RT_QUICK_GLIBC ? LEDGER_GRANULE_SHIFT_GLIBC : LEDGER_GRANULE_SHIFT_OTHER;
}

/* Is the usable size known without a call, of a block of @size with @flags of its cell? */
RT_INLINE bool rt_quick_knows_usable(enum rt_quick quick, uint64_t size, uint32_t flags)
{
	return quick == RT_QUICK_GLIBC ||
	       (flags & LEDGER_CELL_CLASSED && rt_usable_by_class(size) != 0);
}

/* Late, where nothing else is to be kept in registers. */
RT_INLINE uint64_t rt_quick_usable(enum rt_quick quick, uintptr_t address, uint64_t size)
{
	return quick == RT_QUICK_GLIBC ? rt_usable_of_glibc(address) : rt_usable_by_class(size);
}

/*
 * Count @block in @slot, and leave. In bookkeeping. False: nothing was done, for want of a cell
 * (NULL has none), or because the slot is another row's by now. No call on the way: what is to be
 * kept across one costs a register of the caller's, which the hook has to save.
 */
RT_INLINE bool rt_quick_count(enum rt_quick quick, struct rt_thread *thread,
			      struct ledger_control *control, struct ledger_slot *slot,
			      uint32_t row, void *block, size_t size, struct rt_alloc alloc)
{
	struct ledger_cache *cache = thread->cache;
	_Atomic uint64_t *total = (_Atomic uint64_t *)&cache->first;
	uint64_t turn;
	rt_cell *cell;

	if (RT_UNLIKELY(rt_load(&slot->row) != row) || RT_UNLIKELY(size >= LEDGER_LARGE_BYTES) ||
	    RT_UNLIKELY(alloc.flags & LEDGER_CELL_FOREIGN) ||
	    RT_UNLIKELY(!rt_quick_knows_usable(quick, size, alloc.flags)))
		return false;
	cell = rt_cell_real((uintptr_t)block, rt_quick_granule(quick));
	if (RT_UNLIKELY(!cell) || RT_UNLIKELY(ledger_cell_state(rt_load(cell)) == LEDGER_CELL_LIVE))
		return false;
	if (RT_UNLIKELY(rt_load(&control->caches) != 1))
		total = (_Atomic uint64_t *)&cache->sum;
	turn = rt_slot_begin(slot, control);
	rt_bump(&slot->allocs, 1);
	rt_bump(&slot->alloc_bytes, size);
	rt_bump(total, size);
	rt_bump(&cache->histogram[core_bit_width_below(size)], 1);
	rt_store(cell, rt_cell_value((uintptr_t)block, row, size, alloc.flags));
	rt_bump(&cache->usable_alloc_bytes, rt_quick_usable(quick, (uintptr_t)block, size));
	thread->last_block = (uintptr_t)block;
	if (RT_UNLIKELY(total == (_Atomic uint64_t *)&cache->sum) &&
	    RT_UNLIKELY(rt_load(&cache->sum) >= rt_load(&rt_global.threshold_bytes)))
		rt_rise_and_leave(thread, slot, turn, (int64_t)size);
	else
		rt_quick_leave(thread, control, slot, turn, 1, (int64_t)size);
	return true;
}

/* The same place, kind and epoch as the last walk's? Then its row is this one's too. */
RT_INLINE bool rt_quick_repeats(enum rt_quick quick, const struct rt_thread *thread,
				const struct ledger_control *control, struct rt_alloc alloc,
				const void *frame)
{
	return RT_LIKELY(thread->last_row.quick == rt_quick_key(quick, alloc.key)) &&
	       RT_LIKELY(thread->last_row.mode_and_epoch == rt_mode_and_epoch(control)) &&
	       RT_LIKELY(rt_walk_repeats(&thread->walk, frame));
}

/* False: nothing was done. */
RT_INLINE bool rt_quick_record(enum rt_quick quick, void *block, size_t size, struct rt_alloc alloc,
			       const void *frame)
{
	struct rt_thread *thread = rt_tls.thread;
	struct ledger_control *control;

	/* From another place than the last: not worth entering. */
	if (RT_UNLIKELY(!thread) || thread->walk.leaf != (uintptr_t)frame + sizeof(uintptr_t))
		return false;
	control = rt_quick_enter(thread, frame);
	if (RT_UNLIKELY(!control))
		return false;
	if (!rt_quick_repeats(quick, thread, control, alloc, frame) ||
	    RT_UNLIKELY(!rt_quick_count(quick, thread, control, thread->last_row.slot,
					thread->last_row.row, block, size, alloc)))
		return rt_quick_give_up(thread);
	return true;
}

/*
 * Of a cell: what is looked at, and what is wanted. Small, live, with a chunk of the next malloc, of a
 * family that may be freed so and, if the function was told, of that size: one compare says all. A size
 * that no small block has reaches beyond what is looked at. But for bit 4 of the address.
 */
RT_INLINE uint64_t rt_quick_looked_at(struct rt_free how)
{
	const uint64_t sizes = (UINT64_C(1) << LEDGER_CELL_SIZE_BITS) - 1;

	return 7ull << LEDGER_CELL_HALF_SHIFT |
	       (uint64_t)(LEDGER_CELL_FOREIGN | rt_free_families(how)) << LEDGER_CELL_FLAGS_SHIFT |
	       (how.has_size ? sizes << LEDGER_CELL_SIZE_SHIFT : 0);
}

RT_INLINE uint64_t rt_quick_wanted(struct rt_free how)
{
	const uint64_t family = ledger_freeing_family((enum ledger_freeing)how.freeing);

	return (uint64_t)LEDGER_CELL_LIVE << LEDGER_CELL_STATE_SHIFT |
	       family << LEDGER_CELL_FLAGS_SHIFT |
	       (how.has_size ? (uint64_t)how.size << LEDGER_CELL_SIZE_SHIFT : 0);
}

/* @in_scope, as @quick a constant: is it for frees in a scope, which count these, or for others? */
RT_INLINE bool rt_quick_frees(enum rt_quick quick, bool in_scope, const struct rt_thread *thread)
{
	if (quick == RT_QUICK_GLIBC && !in_scope)
		return thread->frees_quickly;
	return rt_load(&rt_global.quick) == quick && in_scope == (thread->entries != NULL) &&
	       rt_thread_is_present(thread);
}

/* False: nothing was done. */
RT_INLINE bool rt_quick_forget(enum rt_quick quick, bool in_scope, void *block, struct rt_free how,
			       const void *frame)
{
	uintptr_t address = (uintptr_t)block;
	struct rt_thread *thread = rt_tls.thread;
	struct ledger_control *control;
	struct ledger_cache *cache;
	struct ledger_slot *slot;
	_Atomic uint64_t *total;
	uint64_t value, size, turn;
	bool temporary;
	uint32_t row;
	rt_cell *cell;

	/* Alignments are looked up. */
	if (RT_UNLIKELY(!thread) || RT_UNLIKELY(!rt_quick_frees(quick, in_scope, thread)) ||
	    rt_free_is_aligned(how))
		return false;
	control = rt_quick_enter(thread, frame);
	if (RT_UNLIKELY(!control))
		return false;
	cell = rt_cell_seek(address, rt_quick_granule(quick));
	value = RT_LIKELY(cell != NULL) ? rt_load(cell) : 0;
	if (RT_UNLIKELY((value & rt_quick_looked_at(how)) !=
			(rt_quick_wanted(how) | (address >> 4 & 1) << LEDGER_CELL_HALF_SHIFT)) ||
	    RT_UNLIKELY(address & RT_BLOCK_MASK))
		return rt_quick_give_up(thread);
	/* An ancestor's row has no slot. */
	row = ledger_cell_row(value);
	slot = &thread->slots[row & thread->slot_mask];
	temporary = thread->last_block == address;
	if (RT_UNLIKELY(rt_load(&slot->row) != row) ||
	    (temporary && RT_UNLIKELY(rt_load(&slot->temporaries) >> 31)))
		return rt_quick_give_up(thread);
	size = how.has_size ? how.size : ledger_cell_size(value);
	if (RT_UNLIKELY(!rt_quick_knows_usable(quick, size, ledger_cell_flags(value))))
		return rt_quick_give_up(thread);
	cache = thread->cache;
	total = (_Atomic uint64_t *)&cache->first;
	/* A fall from a new maximum gives up: rt_fall() captures that first. */
	if (RT_LIKELY(rt_load(&control->caches) == 1)) {
		if (RT_UNLIKELY(rt_load(&cache->first) + rt_load(&rt_global.state->live_bytes) >
				rt_load(&rt_global.state->peak_bytes)))
			return rt_quick_give_up(thread);
	} else {
		total = (_Atomic uint64_t *)&cache->sum;
		if (RT_UNLIKELY(rt_load(&cache->sum) - (int64_t)size <=
				-rt_load(&rt_global.threshold_bytes)))
			return rt_quick_give_up(thread);
	}
	turn = rt_load(&control->peak_turn);
	rt_cell_free(cell);
	rt_bump(total, -size);
	atomic_signal_fence(memory_order_acq_rel);
	rt_slot_bring(slot, turn);
	rt_bump(&slot->frees, 1);
	rt_bump(&slot->freed_bytes, size);
	if (in_scope)
		rt_scope_free(thread, row, size, 0);
	/* After the cell: what is no block of ours may have no readable word before it. */
	rt_bump(&cache->usable_freed_bytes, rt_quick_usable(quick, address, size));
	if (temporary) {
		thread->last_block = 0;
		rt_store(&slot->temporaries, rt_load(&slot->temporaries) + 1);
		rt_bump(&cache->temporary_bytes, size);
	}
	rt_quick_leave(thread, control, slot, turn, -1, -(int64_t)size);
	return true;
}

#endif
