/* SPDX-License-Identifier: MIT */
#include "runtime/hook/hook.h"

#include "runtime/track/young_replay.h"

/* Without a ledger, or at first. Apart, so that what is common saves no registers for it. */
static RT_COLD void record_unready(void *block, size_t size, struct rt_alloc what,
				   const void *frame)
{
	struct ledger_control *control = rt_control();

	if (rt_tls.ignoring)
		what.cell |= RT_CELL_IGNORED;
	if (!control && rt_mine.young && !rt_young_record(block, size, what, frame))
		control = rt_grow_up();
	if (control)
		(void)rt_record_any(block, size, what, frame, control);
}

void *rt_record_rest(void *block, size_t size, struct rt_alloc what, const void *frame)
{
	struct ledger_control *control = rt_mine.control;

	if (RT_LIKELY(control != NULL))
		return rt_record_any(block, size, what, frame, control);
	record_unready(block, size, what, frame);
	return block;
}

void rt_record_other(void *block, size_t size, struct rt_alloc what, const void *frame,
		     uint64_t mark)
{
	what.cell |= LEDGER_CELL_FOREIGN;
	if ((rt_control() || rt_mine.young) && rt_record_is_new(block, mark))
		(void)rt_record_rest(block, size, what, frame);
}

static RT_COLD void forget_unready(void *block, struct rt_free how, const void *frame)
{
	struct ledger_control *control = rt_control();

	if (!control && rt_mine.young && !rt_young_forget(block, how, frame))
		control = rt_grow_up();
	if (control)
		rt_forget_any(block, how, frame, control);
}

void rt_forget_rest(void *block, struct rt_free how, const void *frame)
{
	struct ledger_control *control = rt_mine.control;

	if (RT_LIKELY(control != NULL))
		rt_forget_any(block, how, frame, control);
	else
		forget_unready(block, how, frame);
}

void rt_free_rest(void *block, struct rt_free how, const void *frame)
{
	rt_forget_rest(block, how, frame);
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

void *rt_resize(void *block, size_t size, size_t request, const void *frame)
{
	struct ledger_control *control = rt_control();
	struct rt_resize resize = { 0 };
	void *after;

	if (!rt_does(RT_PART_CELL))
		return rt_next.realloc(block, request);
	if (RT_UNLIKELY(!control) && rt_mine.young && !rt_young_resize_begin(block, frame, &resize))
		control = rt_grow_up();
	if (RT_LIKELY(control != NULL)) {
		say_resizing(block);
		rt_resize_begin(control, block, frame, &resize);
	}
	after = rt_next.realloc(block, request);
	/* Not the one from before: a handler may have forked meanwhile. */
	control = rt_control();
	if (RT_UNLIKELY(!control) && rt_mine.young &&
	    !rt_young_resize_end(&resize, block, after, size, frame))
		control = rt_grow_up();
	if (RT_LIKELY(control != NULL)) {
		if (RT_UNLIKELY(rt_mine.young != NULL))
			rt_young_translate(&resize);
		rt_resize_end(control, &resize, block, after, size, frame);
		say_resized();
	}
	return after;
}
