/* SPDX-License-Identifier: MIT */
/* A realloc: the old block's free and the new one's allocation, as one change of the live total. */
#include "runtime/track/resize.h"

#include "runtime/track/break.h"
#include "runtime/track/guarded.h"
#include "runtime/track/live_peak.h"
#include "runtime/track/misuse.h"
#include "runtime/track/pagemap.h"
#include "runtime/track/record_parts.h"
#include "runtime/track/scope.h"

/* In bookkeeping, so that what the answer may allocate is told from what the program does. */
static RT_COLD uint64_t ask_usable(uintptr_t address, const void *frame)
{
	struct rt_thread *thread = rt_thread_self();
	uint64_t bytes;

	if (!thread || !rt_enter(thread, frame))
		return 0;
	bytes = rt_usable_ask(address);
	rt_leave(thread);
	return bytes;
}

void rt_resize_begin(void *block, const void *frame, struct rt_resize *ret_resize)
{
	const struct rt_free how = rt_free_by(LEDGER_FREEING_REALLOC);
	struct rt_block at = { 0 };

	if (!rt_has_passed(rt_tls.thread, (uintptr_t)block))
		at = rt_block_at((uintptr_t)block, rt_global.granule_shift);
	*ret_resize = (struct rt_resize){ .value = at.value, .size = at.size };
	if (!rt_free_is_right(&at, how) && !rt_may_have_passed(&at))
		ret_resize->is_judged = rt_misuse_judge(block, &at, how, frame);
	if (!at.value) {
		if (rt_global.passes && !ret_resize->is_judged)
			ret_resize->usable = rt_passed_bytes(block, 0);
		return;
	}
	if (rt_block_is_guarded(&at))
		rt_guarded_retire(&at, frame);
	if (rt_block_has_usable(&at) && rt_row_has_slots(ledger_cell_row(at.value))) {
		ret_resize->usable = rt_block_usable_at_hand(&at);
		if (RT_UNLIKELY(!ret_resize->usable))
			ret_resize->usable = ask_usable(at.address, frame);
	}
	rt_block_take_out(&at);
}

/* The next allocator kept the block @before. */
static RT_COLD void restore(const struct rt_resize *resize, void *before)
{
	if (!resize->value)
		return;
	rt_block_note((uintptr_t)before, ledger_cell_row(resize->value), resize->size,
		      rt_cell_flags(resize->value));
	if (rt_cell_flags(resize->value) & RT_CELL_TAKEN)
		rt_taken_add((uintptr_t)before);
}

/* The old block's row and usable bytes; the live total is the caller's. In bookkeeping. */
static void close_old(struct rt_thread *thread, struct ledger_control *control,
		      const struct rt_resize *resize)
{
	uint32_t row = ledger_cell_row(resize->value);

	if (!resize->value) {
		if (!resize->is_judged)
			rt_unknown_free(thread);
	} else if (!rt_row_has_slots(row)) {
		rt_count_free_directly(thread, row, resize->size,
				       rt_block_live_bytes(resize->value, resize->size), 0);
	} else {
		(void)rt_count_row_free(thread, control, row, resize->size);
		rt_bump(&thread->cache->usable_freed_bytes, resize->usable);
	}
}

/* Of the block that comes out of a realloc, as rt_cell_value() takes them: an ignored one stays so. */
static uint32_t flags_after(const struct rt_resize *resize, const void *after)
{
	return rt_guarded_flags(after) | rt_marks_of_thread() | resize->flags |
	       (rt_cell_flags(resize->value) & RT_CELL_IGNORED);
}

/* In the live total; of one that passed, its usable bytes. */
static uint64_t old_live_bytes(const struct rt_resize *resize)
{
	if (!resize->value)
		return resize->usable;
	return rt_row_has_slots(ledger_cell_row(resize->value))
		       ? rt_block_live_bytes(resize->value, resize->size)
		       : 0;
}

/* By what the old block was, of a tier or exact: that is what may go from a maximum. */
static void fall(struct rt_thread *thread, struct ledger_control *control,
		 const struct rt_resize *resize, uint64_t bytes)
{
	if (!resize->value)
		rt_tier_keep(thread, control, -(int64_t)bytes);
	else if (rt_cell_flags(resize->value) & RT_CELL_TAKEN)
		rt_tier_fall(thread, control, bytes);
	else
		rt_fall(thread, control, bytes);
}

/*
 * Old free and new allocation as one operation of the live total: a fall is announced before
 * either row changes, a rise after both have, and the sum of the two never shows. @after: NULL if the
 * old block was freed, or the new one is not to be recorded. Apart: its variables
 * are not to lie on the stack while the row is looked for.
 */
static RT_APART void change(struct rt_thread *thread, struct ledger_control *control, uint32_t row,
			    const struct rt_resize *resize, void *after, size_t size,
			    uint32_t flags)
{
	const uint64_t old_bytes = old_live_bytes(resize);
	uint64_t bytes = 0;

	if (row == RT_ROW_PASSED)
		bytes = rt_passed_bytes(after, flags);
	else if (after)
		bytes = rt_live_bytes(flags, size);
	if (RT_UNLIKELY(flags & RT_CELL_TAKEN) && !rt_tier_looks_after(flags, size))
		rt_tier_look(thread, control);
	if (old_bytes > bytes)
		fall(thread, control, resize, old_bytes - bytes);
	if (after && row != RT_ROW_PASSED &&
	    !rt_record_row(thread, control, row, (uintptr_t)after, size, flags))
		rt_rise(thread, control, -bytes);
	close_old(thread, control, resize);
	if (RT_UNLIKELY(thread->entries != NULL) && resize->value)
		rt_scope_free(thread, ledger_cell_row(resize->value), resize->size,
			      rt_block_weight_log2(resize->value, resize->size));
	if (bytes > old_bytes && row == RT_ROW_PASSED)
		rt_tier_keep(thread, control, (int64_t)(bytes - old_bytes));
	else if (bytes > old_bytes && flags & RT_CELL_TAKEN)
		rt_tier_rise(thread, control, bytes - old_bytes);
	else if (bytes > old_bytes)
		rt_rise(thread, control, bytes - old_bytes);
	if (RT_UNLIKELY(flags & RT_CELL_TAKEN) && rt_tier_looks_after(flags, size))
		rt_tier_look(thread, control);
}

/* False: nothing was done. */
static bool replace(struct rt_thread *thread, const struct rt_resize *resize, void *after,
		    size_t size, const void *frame)
{
	struct rt_alloc alloc = rt_alloc(LEDGER_KIND_REALLOC, 0, flags_after(resize, after));
	struct ledger_control *control = rt_enter(thread, frame);
	uint32_t row = 0;

	if (RT_UNLIKELY(!control))
		return false;
	if (RT_LIKELY(after != NULL))
		row = rt_row_of(thread, rt_mode_and_epoch(control), &alloc, size, frame);
	change(thread, control, row, resize, after, size, alloc.flags);
	if (after)
		thread->last_block = (uintptr_t)after;
	rt_leave(thread);
	if (after && row != RT_ROW_PASSED)
		rt_break_met(row);
	return true;
}

static RT_COLD void replace_directly(struct rt_thread *thread, const struct rt_resize *resize,
				     void *after, size_t size)
{
	if (resize->value)
		rt_count_free_directly(thread, ledger_cell_row(resize->value), resize->size,
				       rt_block_live_bytes(resize->value, resize->size),
				       resize->usable);
	if (!resize->value && !resize->is_judged) {
		rt_add(&rt_global.state->live_bytes, -(int64_t)resize->usable);
		rt_unknown_free(thread);
	}
	if (after)
		rt_record_no_stack(after, size, LEDGER_FAMILY_MALLOC | flags_after(resize, after));
}

void rt_resize_end(const struct rt_resize *resize, void *before, void *after, size_t size,
		   const void *frame)
{
	struct ledger_control *control = rt_mine.control;
	struct rt_thread *thread = rt_thread_self();
	bool aligned = !((uintptr_t)after & RT_BLOCK_MASK);
	bool record = after && aligned && rt_is_wanted(control, size, frame);

	if (control && !aligned)
		rt_note_unseen(LEDGER_UNSEEN_UNALIGNED);
	else if (after && aligned && !record)
		rt_record_unwanted(control, after, frame);
	if (!after && size > 0)
		restore(resize, before);
	else if (!thread || !replace(thread, resize, record ? after : NULL, size, frame))
		replace_directly(thread, resize, record ? after : NULL, size);
}
