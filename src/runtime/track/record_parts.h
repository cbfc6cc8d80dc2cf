/* SPDX-License-Identifier: MIT */
/*
 * What an allocation, a free and a realloc have in common: record.c, resize.c. What changes figures of a
 * slot is called in bookkeeping.
 */
#ifndef SEEP_RUNTIME_RECORD_PARTS_H
#define SEEP_RUNTIME_RECORD_PARTS_H

#include "runtime/track/counters.h"
#include "runtime/track/place.h"
#include "runtime/track/record.h"
#include "runtime/track/tier.h"
#include "runtime/track/usable.h"

#include <sys/sdt.h>

/* @control: NULL before there is a ledger: then only the thread is asked. */
RT_HOT bool rt_is_wanted(const struct ledger_control *control, size_t size, const void *frame);

/* Of one that nobody can enter for; of one that is not wanted. */
RT_COLD void rt_record_no_stack(void *block, size_t size, uint32_t flags);
RT_COLD void rt_record_unwanted(struct ledger_control *control, void *block, const void *frame);

/*
 * Without a slot: of an ancestor's row, of "no stack", in a handler within our bookkeeping, or
 * without a ledger.
 */
RT_COLD void rt_count_free_directly(struct rt_thread *thread, uint32_t row, uint64_t size,
				    uint64_t live, uint64_t usable);

/*
 * Count, and write the cell. The live total is the caller's: it rises, or for a realloc changes by the
 * difference. False: counted without a stack, and there the total is included.
 */
RT_APART bool rt_record_row(struct rt_thread *thread, struct ledger_control *control, uint32_t row,
			    uintptr_t address, size_t size, uint32_t flags);

/* The live total is the caller's. Returns the slot, NULL: it was counted in the row directly. */
RT_INLINE struct ledger_slot *rt_count_row_free(struct rt_thread *thread,
						const struct ledger_control *control, uint32_t row,
						uint64_t size)
{
	struct ledger_slot *slot = rt_slot(thread, row);

	if (RT_LIKELY(slot != NULL))
		rt_slot_free(slot, control, size);
	else
		rt_row_free(row, size);
	return slot;
}

/* Of what lies between guards the header of a chunk is elsewhere. */
static inline bool rt_block_is_guarded(const struct rt_block *block)
{
	return RT_UNLIKELY(ledger_flags_are_guarded(ledger_cell_flags(block->value)));
}

static inline bool rt_block_has_usable(const struct rt_block *block)
{
	return !(ledger_cell_flags(block->value) & LEDGER_CELL_FOREIGN) ||
	       rt_block_is_guarded(block);
}

static inline uint64_t rt_block_usable_at_hand(const struct rt_block *block)
{
	if (rt_block_is_guarded(block))
		return block->size;
	return rt_usable_at_hand(block->address, block->size,
				 ledger_cell_flags(block->value) & LEDGER_CELL_CLASSED);
}

/* As the cell of a block of @size says. */
static inline unsigned rt_block_weight_log2(uint64_t value, uint64_t size)
{
	return rt_weight_log2(rt_cell_flags(value), size);
}

static inline uint64_t rt_block_live_bytes(uint64_t value, uint64_t size)
{
	return rt_live_bytes(rt_cell_flags(value), size);
}

/* A live block is none any more. */
static inline void rt_block_take_out(const struct rt_block *block)
{
	rt_cell_free(block->cell);
	if (RT_UNLIKELY(rt_cell_flags(block->value) & RT_CELL_TAKEN)) {
		rt_taken_remove(block->address);
		STAP_PROBE1(otel_memory, free, block->address);
	}
}

static inline uint32_t rt_marks_of_thread(void)
{
	return rt_tls.ignoring ? RT_CELL_IGNORED : 0;
}

/* RT_ROW_PASSED: it is counted, but for the live total. */
RT_INLINE uint32_t rt_row_of(struct rt_thread *thread, uint64_t now, struct rt_alloc *alloc,
			     size_t size, const void *frame)
{
	if (RT_LIKELY(!(now & LEDGER_MODE_TIERS)) && RT_LIKELY(!thread->is_tiered))
		return rt_place_row(thread, alloc->key, (uint32_t)(now >> 32), frame);
	return rt_tier_row(thread, now, alloc->key, size, &alloc->flags, frame);
}

/* No block is known there, and there may be one all the same. */
static inline bool rt_may_have_passed(const struct rt_block *at)
{
	return RT_UNLIKELY(rt_global.passes) && !at->value;
}

#endif
