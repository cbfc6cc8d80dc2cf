/* SPDX-License-Identifier: MIT */
#include "runtime/hook/hook.h"

#include "runtime/track/early.h"

/* Without a ledger, or at first. Apart, so that what is common saves no registers for it. */
static RT_COLD void *record_unready(void *block, size_t size, struct rt_alloc alloc,
				    const void *frame)
{
	struct ledger_control *control = rt_control();

	if (rt_tls.ignoring)
		alloc.flags |= RT_CELL_IGNORED;
	if (control)
		return rt_record_ready(block, size, alloc, frame);
	if (block && rt_is_early())
		rt_early_alloc(block, size, alloc.flags);
	return block;
}

void *rt_record_slow(void *block, size_t size, struct rt_alloc alloc, const void *frame)
{
	if (RT_LIKELY(rt_mine.control != NULL))
		return rt_record_ready(block, size, alloc, frame);
	return record_unready(block, size, alloc, frame);
}

void rt_record_other(void *block, size_t size, struct rt_alloc alloc, const void *frame,
		     uint64_t before)
{
	alloc.flags |= LEDGER_CELL_FOREIGN;
	if (rt_control() && rt_record_is_new(block, before))
		(void)rt_record_slow(block, size, alloc, frame);
}

static RT_COLD void forget_unready(void *block, bool is_others, const void *frame)
{
	struct ledger_control *control = rt_control();
	struct rt_block at;

	if (control) {
		rt_forget_ready(block, is_others, frame, control);
	} else if (rt_is_early() && !is_others) {
		at = rt_block_at((uintptr_t)block, rt_global.granule_shift);
		if (at.value)
			rt_store(at.cell, 0);
		rt_early_freed(at.value, at.size);
	}
}

void rt_forget_slow(void *block, bool is_others, const void *frame)
{
	struct ledger_control *control = rt_mine.control;

	if (RT_LIKELY(control != NULL))
		rt_forget_ready(block, is_others, frame, control);
	else
		forget_unready(block, is_others, frame);
}

void rt_free_slow(void *block, const void *frame)
{
	if (RT_LIKELY(rt_tls.freeing != block))
		rt_forget_slow(block, false, frame);
	else
		rt_tls.freeing = NULL;
	rt_next.free(block);
}

/*
 * Whoever stops this thread now finds the block in the page map neither where it was nor where it
 * will be.
 */
static void say_resizing(const void *block)
{
	struct rt_thread *thread = rt_thread_self();

	if (RT_UNLIKELY(!thread))
		return;
	rt_store_release(&thread->cache->resizing, (uintptr_t)block);
}

/* In a child that was forked meanwhile the thread has no cache, or one of its own. */
static void say_resized(void)
{
	if (RT_LIKELY(rt_tls.thread != NULL))
		rt_store_release(&rt_tls.thread->cache->resizing, 0);
}

static RT_COLD void resized_early(const struct rt_resize *resize, void *before, void *after,
				  size_t size)
{
	if (!after && size > 0) {
		rt_resize_restore(resize, before);
		return;
	}
	rt_early_freed(resize->value, resize->size);
	if (after)
		rt_early_alloc(after, size, LEDGER_FAMILY_MALLOC | rt_marks_after_resize(resize));
}

void *rt_resize(void *block, size_t size, size_t request, const void *frame)
{
	struct ledger_control *control = rt_control();
	struct rt_resize resize = { 0 };
	bool is_early = RT_UNLIKELY(!control) && rt_is_early();
	void *after;

	if (RT_LIKELY(control != NULL))
		say_resizing(block);
	if (RT_LIKELY(control != NULL) || is_early)
		rt_resize_begin(block, frame, &resize);
	after = rt_next.realloc(block, request);
	/* Not the one from before: a handler may have forked meanwhile. */
	control = rt_control();
	if (RT_LIKELY(control != NULL)) {
		rt_resize_end(control, &resize, block, after, size, frame);
		say_resized();
	} else if (is_early || rt_is_early()) {
		resized_early(&resize, block, after, size);
	}
	return after;
}
