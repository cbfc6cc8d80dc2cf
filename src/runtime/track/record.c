/* SPDX-License-Identifier: MIT */
/*
 * Every case of one operation. What to know:
 *
 * - A block has a cell in the page map, which names its row; a row is a context in an epoch.
 * - A thread counts in slots of its own, one for a row, which are added to rows now and then. A row's
 *   figures are its own and those of all slots with its number.
 * - An allocation: which row (place.h), then count in its slot, then write the cell. A free: empty the
 *   cell, then count in the slot of the row that it named. A realloc is both, as one change.
 * - All of that between rt_enter() and rt_leave(). Whoever cannot enter, such as a handler that
 *   interrupted this thread here, counts "directly": by atomic adds, without a stack.
 * - quick.h does the same for what is common, and has looked at everything before it changes anything.
 *
 * An allocation goes by rt_quick_record() (from the same place as the last walk), else record_usual()
 * (another place, nothing rare), else record_any(); rt_record_slow() in between asks for a ledger only.
 */
#include "runtime/track/record.h"

#include "runtime/track/break.h"
#include "runtime/track/counters.h"
#include "runtime/track/flush.h"
#include "runtime/track/guarded.h"
#include "runtime/track/live_peak.h"
#include "runtime/track/misuse.h"
#include "runtime/track/module_filter.h"
#include "runtime/track/pagemap.h"
#include "runtime/track/place.h"
#include "runtime/track/quick.h"
#include "runtime/track/record_parts.h"
#include "runtime/unwind/modules.h"

bool rt_is_wanted(const struct ledger_control *control, size_t size, const void *frame)
{
	uint32_t mode = LEDGER_MODE_ALL;
	uint64_t least;

	if (RT_UNLIKELY(rt_tls.unrecorded))
		return false;
	if (RT_LIKELY(control != NULL))
		mode = rt_load(&control->mode);
	if (RT_LIKELY(!(mode & ~(uint32_t)LEDGER_MODE_TIERS)))
		return true;
	least = rt_load(&control->size_min_bytes);
	return !rt_mode_is_idle(mode) &&
	       size - least <= rt_load(&control->size_max_bytes) - least &&
	       (!(mode & LEDGER_MODE_MODULES) || rt_module_filter_wants(frame));
}

void rt_count_free_directly(struct rt_thread *thread, uint32_t row, uint64_t size, uint64_t live,
			    uint64_t usable)
{
	if (row >= rt_load(&rt_mine.first_row))
		rt_direct_free(row, size, live, usable);
	else
		rt_inherited_free(thread, size);
}

/* Count a block as freed. In bookkeeping, after its cell has changed. */
static inline void count_free(struct rt_thread *thread, struct ledger_control *control,
			      const struct rt_block *block)
{
	const uint32_t row = ledger_cell_row(block->value);
	const uint64_t live = rt_block_live_bytes(block->value, block->size);

	if (!rt_row_has_slots(row)) {
		rt_count_free_directly(thread, row, block->size, live, 0);
		return;
	}
	if (RT_UNLIKELY(rt_cell_flags(block->value) & RT_CELL_TAKEN))
		rt_tier_fall(thread, control, live);
	else
		rt_fall(thread, control, live);
	(void)rt_count_row_free(thread, control, row, block->size);
}

void rt_record_no_stack(void *block, size_t size, uint32_t flags)
{
	const struct ledger_control *control = rt_mine.control;

	if (control && rt_load(&control->mode) & LEDGER_MODE_SAMPLED) {
		/* What was to be taken has a flag of others' blocks, and may be one: nobody knows. */
		rt_pass_directly(rt_tls.thread, size,
				 flags & RT_CELL_TAKEN ? 0 : rt_passed_bytes(block, flags));
		return;
	}
	if (RT_UNLIKELY(rt_global.passes))
		rt_taken_add((uintptr_t)block);
	rt_direct_alloc(size);
	rt_block_note((uintptr_t)block, rt_load(&rt_mine.first_row), size, flags);
}

void rt_record_unwanted(struct ledger_control *control, void *block, const void *frame)
{
	uint32_t none = 0;

	rt_tier_add_no_more();
	/* Not each time: it stands on the line that every hook reads. */
	if (control && !rt_load(&control->filtered_once))
		(void)atomic_compare_exchange_strong_explicit(
			&control->filtered_once, &none, LEDGER_FILTERED_SOME, memory_order_relaxed,
			memory_order_relaxed);
	if (rt_block_at((uintptr_t)block, rt_global.granule_shift).value)
		rt_forget_ready(block, rt_free_by(LEDGER_FREEING_NONE), frame);
	/* What its cell says is about an earlier block that was freed unseen. */
	rt_block_unknow((uintptr_t)block);
}

static inline uint64_t usable_of(const struct rt_block *block)
{
	if (rt_block_is_guarded(block))
		return block->size;
	return rt_usable(block->address, block->size,
			 ledger_cell_flags(block->value) & LEDGER_CELL_CLASSED);
}

/*
 * The next allocator served one function by another that is hooked too (a wrapper's aligned_alloc
 * that calls memalign): the inner call recorded the block already. It is taken back; the outer
 * one is what the program called.
 */
static void take_back(struct rt_thread *thread, struct ledger_control *control,
		      const struct rt_block *block)
{
	struct ledger_slot *slot = rt_slot(thread, ledger_cell_row(block->value));
	uint64_t turn;

	if (RT_UNLIKELY(!slot) || RT_UNLIKELY(rt_cell_flags(block->value) & RT_CELL_TAKEN)) {
		count_free(thread, control, block);
		return;
	}
	turn = rt_slot_begin(slot, control);
	rt_bump(&slot->allocs, -1ull);
	rt_bump(&slot->alloc_bytes, -block->size);
	rt_slot_end(slot, control, turn, -1, -(int64_t)block->size);
	rt_rise(thread, control, -block->size);
	rt_bump(&thread->cache->histogram[rt_bucket(block->size)], -1ull);
	if (rt_block_has_usable(block))
		rt_bump(&thread->cache->usable_alloc_bytes, -usable_of(block));
}

/* A block is noted as alive where a new one begins. */
static RT_COLD void close_live(struct rt_thread *thread, struct ledger_control *control,
			       const struct rt_block *block, uintptr_t address)
{
	uint32_t row = ledger_cell_row(block->value);

	if (RT_UNLIKELY(rt_cell_flags(block->value) & RT_CELL_TAKEN))
		rt_taken_remove(block->address);
	/* glibc's functions do not call each other so: there a free was missed. */
	if (!rt_global.glibc && block->address == address && thread->last_block == address &&
	    rt_row_has_slots(row)) {
		take_back(thread, control, block);
		return;
	}
	rt_bump(&thread->cache->missed_frees, 1);
	count_free(thread, control, block);
}

/* Returns @flags, with "foreign" if the usable size is not known, for the block's free(). */
RT_INLINE uint32_t count_alloc(struct rt_thread *thread, struct ledger_control *control,
			       struct ledger_slot *slot, uintptr_t address, size_t size,
			       uint32_t flags)
{
	struct ledger_cache *cache = thread->cache;
	uint64_t usable = ledger_flags_are_guarded(flags) ? size : 0;

	rt_slot_alloc(slot, control, size);
	rt_bump(&cache->histogram[rt_bucket(size)], UINT64_C(1) << rt_weight_log2(flags, size));
	if (RT_LIKELY(!(flags & LEDGER_CELL_FOREIGN)))
		usable = rt_usable(address, size, flags & LEDGER_CELL_CLASSED);
	rt_bump(&cache->usable_alloc_bytes, usable);
	return RT_LIKELY(usable != 0) || ledger_flags_are_guarded(flags) ? flags
									 : rt_flags_foreign(flags);
}

/*
 * Count, and write the cell. In bookkeeping. The live total is the caller's: it rises, or for a
 * realloc changes by the difference. False: counted without a stack, and there the total is
 * included.
 */
RT_INLINE bool record_row(struct rt_thread *thread, struct ledger_control *control, uint32_t row,
			  uintptr_t address, size_t size, uint32_t flags)
{
	struct ledger_slot *slot = row != rt_global.first_row ? rt_slot(thread, row) : NULL;
	struct rt_block stale;
	uint64_t field;
	rt_cell *cell;

	if (RT_UNLIKELY(!slot)) {
		rt_record_no_stack((void *)address, size, flags);
		return false;
	}
	if (!rt_row_is_context(row))
		rt_add(&rt_global.state->dropped, 1);
	flags = count_alloc(thread, control, slot, address, size, flags);
	if (RT_UNLIKELY(flags & RT_CELL_TAKEN)) {
		rt_taken_add(address);
		STAP_PROBE3(otel_memory, alloc, address, size, size << rt_weight_log2(flags, size));
	}
	cell = rt_block_ready(address, size, rt_global.granule_shift, &field);
	if (RT_LIKELY(cell != NULL)) {
		rt_store(cell, rt_cell_value(address, row, field, flags));
		return true;
	}
	while (rt_block_take_stale(address, size, &stale))
		close_live(thread, control, &stale, address);
	rt_block_note(address, row, size, flags);
	return true;
}

bool rt_record_row(struct rt_thread *thread, struct ledger_control *control, uint32_t row,
		   uintptr_t address, size_t size, uint32_t flags)
{
	return record_row(thread, control, row, address, size, flags);
}

/* Returns the block's marks. */
static RT_COLD uint32_t look_twice(const void *frame)
{
	if (rt_load(&rt_unusual) & RT_GENERATED_MET)
		rt_modules_check_load(frame);
	return rt_marks_of_thread();
}

/* Count @block in @row, whatever it is. In bookkeeping, which ends. */
static RT_APART void record_and_leave(struct rt_thread *thread, struct ledger_control *control,
				      uint32_t row, void *block, size_t size, uint32_t flags)
{
	if (RT_UNLIKELY(flags & RT_CELL_TAKEN)) {
		if (!rt_tier_looks_after(flags, size))
			rt_tier_look(thread, control);
		if (record_row(thread, control, row, (uintptr_t)block, size, flags))
			rt_tier_rise(thread, control, rt_live_bytes(flags, size));
		if (rt_tier_looks_after(flags, size))
			rt_tier_look(thread, control);
	} else if (record_row(thread, control, row, (uintptr_t)block, size, flags)) {
		rt_rise(thread, control, size);
	}
	thread->last_block = (uintptr_t)block;
	rt_leave(thread);
}

static void pass_and_leave(struct rt_thread *thread, struct ledger_control *control,
			   const void *block, uint32_t flags)
{
	rt_tier_keep(thread, control, (int64_t)rt_passed_bytes(block, flags));
	thread->last_block = (uintptr_t)block;
	rt_leave(thread);
}

/* A small block without marks, of a thread that has a state, with nothing filtered. Else false. */
RT_INLINE bool record_usual(enum rt_quick quick, void *block, size_t size, struct rt_alloc alloc,
			    const void *frame)
{
	struct rt_thread *thread = rt_tls.thread;
	struct ledger_control *control;
	struct ledger_slot *slot;
	uint64_t now;
	uint32_t row;

	if (RT_UNLIKELY(!block) || RT_UNLIKELY((uintptr_t)block & RT_BLOCK_MASK) ||
	    RT_UNLIKELY(size >= LEDGER_LARGE_BYTES) || RT_UNLIKELY(rt_is_sampled(block)) ||
	    !rt_quick_knows_usable(quick, size, alloc.flags) || RT_UNLIKELY(rt_load(&rt_unusual)))
		return false;
	control = rt_quick_enter(thread, frame);
	if (RT_UNLIKELY(!control))
		return false;
	now = rt_mode_and_epoch(control);
	/* Forked in a handler since: in a state of the parent's a slot could be made. */
	if (RT_UNLIKELY(rt_tls.thread != thread) || !rt_thread_is_present(thread) ||
	    (RT_UNLIKELY(((uint32_t)now & ~LEDGER_MODE_TIERS) != LEDGER_MODE_ALL) &&
	     ((uint32_t)now != LEDGER_MODE_SCOPED || !thread->entries)))
		return rt_quick_give_up(thread);
	row = rt_row_of(thread, now, &alloc, size, frame);
	if (RT_UNLIKELY(row == RT_ROW_PASSED)) {
		pass_and_leave(thread, control, block, alloc.flags);
		return true;
	}
	slot = rt_row_is_context(row) ? rt_slot(thread, row) : NULL;
	/* It may have moved in its group: rt_quick_record() looks at one place only. */
	if (slot && row == thread->last_row.row)
		thread->last_row.slot = slot;
	if (RT_UNLIKELY(!slot) ||
	    RT_UNLIKELY(!rt_quick_count(quick, thread, control, slot, row, block, size, alloc)))
		record_and_leave(thread, control, row, block, size, alloc.flags);
	return true;
}

/* Other allocators' blocks: quick.h, called and not inlined, then the above. */
static RT_APART bool record_classed(void *block, size_t size, struct rt_alloc alloc,
				    const void *frame)
{
	if (RT_UNLIKELY((uintptr_t)block & RT_BLOCK_MASK))
		return false;
	return rt_quick_record(RT_QUICK_CLASSED, block, size, alloc, frame) ||
	       record_usual(RT_QUICK_CLASSED, block, size, alloc, frame);
}

/* Gives @block, so that its caller's frame is gone before it begins. */
static RT_APART void *record_any(void *block, size_t size, struct rt_alloc alloc, const void *frame)
{
	struct ledger_control *control = rt_mine.control;
	struct rt_thread *thread;
	uint32_t row;

	if (RT_UNLIKELY(!block))
		return block;
	alloc.flags |= rt_guarded_flags(block);
	if (RT_UNLIKELY(!control)) {
		if (rt_load(&rt_mine.first_row) && !rt_is_wanted(control, size, frame))
			rt_record_unwanted(control, block, frame);
		else if (rt_load(&rt_mine.first_row))
			rt_record_no_stack(block, size, alloc.flags | rt_marks_of_thread());
		return block;
	}
	if (RT_UNLIKELY((uintptr_t)block & RT_BLOCK_MASK)) {
		rt_note_unseen(LEDGER_UNSEEN_UNALIGNED);
		return block;
	}
	if (RT_UNLIKELY(rt_load(&rt_unusual)))
		alloc.flags |= look_twice(frame);
	/* Some round a size up until it wraps, and give a small block. */
	if (RT_UNLIKELY(size >> LEDGER_ADDRESS_BITS))
		size = alloc.flags & LEDGER_CELL_FOREIGN ? 0
							 : rt_usable((uintptr_t)block, size, false);
	if (!rt_is_wanted(control, size, frame)) {
		rt_record_unwanted(control, block, frame);
		return block;
	}
	thread = rt_thread_self();
	if (RT_UNLIKELY(rt_is_sampled(block)) && thread)
		rt_last_row_resume(thread);
	if (RT_UNLIKELY(!rt_load(&rt_usable_met)))
		rt_usable_meet((uintptr_t)block, size, alloc.flags);
	control = thread ? rt_enter(thread, frame) : NULL;
	if (RT_UNLIKELY(!control)) {
		rt_record_no_stack(block, size, alloc.flags);
		return block;
	}
	row = rt_row_of(thread, rt_mode_and_epoch(control), &alloc, size, frame);
	if (RT_UNLIKELY(row == RT_ROW_PASSED)) {
		pass_and_leave(thread, control, block, alloc.flags);
		return block;
	}
	record_and_leave(thread, control, row, block, size, alloc.flags);
	rt_break_met(row);
	return block;
}

void *rt_record_ready(void *block, size_t size, struct rt_alloc alloc, const void *frame)
{
	bool done = false;

	switch (rt_load(&rt_global.quick)) {
	case RT_QUICK_GLIBC:
		done = record_usual(RT_QUICK_GLIBC, block, size, alloc, frame);
		break;
	case RT_QUICK_CLASSED:
		done = record_classed(block, size, alloc, frame);
		break;
	default:
		break;
	}
	return RT_LIKELY(done) ? block : record_any(block, size, alloc, frame);
}

uint64_t rt_record_fingerprint(void)
{
	struct rt_thread *thread;

	if (!rt_mine.control)
		return 0;
	thread = rt_thread_self();
	return thread ? core_hash_step(rt_load(&thread->cache->usable_alloc_bytes) +
					       rt_load(&thread->cache->passed_allocs),
				       thread->last_block)
		      : 0;
}

bool rt_record_is_new(const void *block, uint64_t before)
{
	return block && !((uintptr_t)block & RT_BLOCK_MASK) && rt_record_fingerprint() == before &&
	       !rt_block_at((uintptr_t)block, rt_global.granule_shift).value;
}

/* @bytes: as many as it stands for. */
static RT_COLD void count_temporary(struct rt_thread *thread, struct ledger_slot *slot,
				    uint64_t bytes)
{
	rt_store(&slot->temporaries, rt_load(&slot->temporaries) + 1);
	rt_bump(&thread->cache->temporary_bytes, bytes);
	/* 32 bits: long before they are full, and again until the row is free. */
	if (RT_UNLIKELY(rt_load(&slot->temporaries) >> 31))
		(void)rt_slot_flush(thread, slot);
}

/* It may be one that passed: then the next free() reads its header, too. */
static RT_COLD void free_unknown(struct rt_thread *thread, const void *block, const void *frame)
{
	const uint64_t bytes = rt_global.passes ? rt_passed_bytes(block, 0) : 0;
	struct ledger_control *control = bytes && thread ? rt_enter(thread, frame) : NULL;

	if (control) {
		rt_tier_keep(thread, control, -(int64_t)bytes);
		rt_leave(thread);
	} else if (bytes) {
		rt_add(&rt_global.state->live_bytes, -(int64_t)bytes);
	}
	rt_unknown_free(thread);
}

void rt_forget_ready(void *block, struct rt_free how, const void *frame)
{
	struct ledger_control *control;
	struct ledger_slot *slot;
	struct rt_thread *thread;
	struct rt_block at;
	unsigned weight_log2;
	uint64_t live;
	uint32_t row;

	/* Of glibc's the hook has tried it: these return at once. */
	if (rt_quick_forget(RT_QUICK_CLASSED, false, block, how, frame) ||
	    rt_quick_forget(RT_QUICK_CLASSED, true, block, how, frame))
		return;
	at = rt_block_at((uintptr_t)block, rt_global.granule_shift);
	if (RT_UNLIKELY(how.is_others) &&
	    (!at.value || ledger_cell_family(at.value) < LEDGER_FAMILY_NEW))
		return;
	if (!rt_free_is_right(&at, how) && !rt_may_have_passed(&at) &&
	    rt_misuse_judge(block, &at, how, frame) && !at.value)
		return;
	thread = rt_thread_self();
	if (RT_UNLIKELY(!at.value)) {
		free_unknown(thread, block, frame);
		return;
	}
	if (rt_block_is_guarded(&at) && how.freeing)
		rt_guarded_retire(&at, frame);
	row = ledger_cell_row(at.value);
	weight_log2 = rt_block_weight_log2(at.value, at.size);
	live = rt_block_live_bytes(at.value, at.size);
	rt_block_take_out(&at);
	control = thread ? rt_enter(thread, frame) : NULL;
	if (RT_UNLIKELY(!control)) {
		bool counted = rt_row_has_slots(row) && rt_block_has_usable(&at);

		rt_count_free_directly(thread, row, at.size, live,
				       counted ? rt_block_usable_at_hand(&at) : 0);
		return;
	}
	if (RT_UNLIKELY(thread->entries != NULL))
		rt_scope_free(thread, row, at.size, weight_log2);
	if (!rt_row_has_slots(row)) {
		rt_count_free_directly(thread, row, at.size, live, 0);
		rt_leave(thread);
		return;
	}
	if (RT_UNLIKELY(rt_cell_flags(at.value) & RT_CELL_TAKEN))
		rt_tier_fall(thread, control, live);
	else
		rt_fall(thread, control, live);
	slot = rt_count_row_free(thread, control, row, at.size);
	if (RT_LIKELY(rt_block_has_usable(&at)))
		rt_bump(&thread->cache->usable_freed_bytes, usable_of(&at));
	if (thread->last_block == at.address) {
		thread->last_block = 0;
		if (RT_LIKELY(slot != NULL))
			count_temporary(thread, slot, at.size << weight_log2);
	}
	rt_leave(thread);
}

void rt_modules_unloaded(const void *frame)
{
	struct rt_thread *thread = rt_tls.thread;

	if (!thread) {
		rt_modules_check();
	} else if (rt_enter(thread, frame)) {
		rt_modules_check();
		rt_leave(thread);
	} else {
		rt_modules_advance();
	}
}
