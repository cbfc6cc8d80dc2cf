/* SPDX-License-Identifier: MIT */
#include "runtime/hook/hook.h"

#include "runtime/hook/entry.h"
#include "runtime/track/resize.h"
#include "runtime/track/tier_quick.h"

/* Found without a control line: is there one now, or will there be? Then what happens is counted. */
static RT_COLD bool is_counted(void)
{
	return rt_control() || rt_is_early();
}

/* Apart, so that what is common saves no registers for it. */
static RT_COLD void *record_unready(void *block, size_t size, struct rt_alloc alloc,
				    const void *frame)
{
	return is_counted() ? rt_record_ready(block, size, alloc, frame) : block;
}

/* What a recorded allocator takes to divide it is not counted beside the parts. */
static RT_COLD void *record_unless_inside(void *block, size_t size, struct rt_alloc alloc,
					  const void *frame)
{
	const struct ledger_control *control = rt_mine.control;

	if (!control || rt_mode_is_idle(rt_load(&control->mode)) || rt_entry_is_inside(frame))
		return block;
	return rt_record_ready(block, size, alloc, frame);
}

void *rt_record_whole(void *block, size_t size, struct rt_alloc alloc, const void *frame)
{
	const struct ledger_control *control = rt_mine.control;

	if (RT_UNLIKELY(!control))
		return record_unready(block, size, alloc, frame);
	if (RT_UNLIKELY(rt_load(&rt_entries_led) != 0))
		return record_unless_inside(block, size, alloc, frame);
	/* Whatever lay there before, its free was seen. */
	if (rt_mode_is_idle(rt_load(&control->mode))) {
		rt_tier_add_no_more();
		return block;
	}
	return rt_record_ready(block, size, alloc, frame);
}

/* Apart, as those below, so that what is common elsewhere saves no registers for it. */
static RT_APART void *record_at_site(void *block, size_t size, struct rt_alloc alloc,
				     const void *frame)
{
	struct rt_thread *thread = rt_tls.thread;

	if (RT_LIKELY(
		    rt_tier_count(RT_QUICK_GLIBC, thread, thread->tier, block, size, alloc, frame)))
		return block;
	return rt_record_whole(block, size, alloc, frame);
}

static RT_APART void *record_classed_at_site(void *block, size_t size, struct rt_alloc alloc,
					     const void *frame)
{
	struct rt_thread *thread = rt_tls.thread;

	if (RT_LIKELY(rt_tier_count(RT_QUICK_CLASSED, thread, thread->tier, block, size, alloc,
				    frame)))
		return block;
	return rt_record_whole(block, size, alloc, frame);
}

void *rt_record_slow(void *block, size_t size, struct rt_alloc alloc, const void *frame)
{
	struct rt_thread *thread = rt_tls.thread;
	bool tells;

	if (RT_UNLIKELY(!thread) || !thread->is_tiered)
		return rt_record_whole(block, size, alloc, frame);
	if (!thread->passes) {
		if (rt_load(&rt_global.quick) == RT_QUICK_GLIBC)
			return record_at_site(block, size, alloc, frame);
		return record_classed_at_site(block, size, alloc, frame);
	}
	/* Of others' blocks no header is read. */
	if (!(alloc.flags & LEDGER_CELL_FOREIGN) &&
	    RT_LIKELY(rt_tier_pass(thread, block, size, frame, &tells)))
		return RT_UNLIKELY(tells) ? rt_tier_tell(thread, block, frame) : block;
	return rt_record_whole(block, size, alloc, frame);
}

void rt_record_other(void *block, size_t size, struct rt_alloc alloc, const void *frame,
		     uint64_t before)
{
	alloc.flags = rt_flags_foreign(alloc.flags);
	if (!is_counted())
		return;
	if (rt_record_is_new(block, before))
		(void)rt_record_slow(block, size, alloc, frame);
	else if (block && !rt_operators_foreign)
		rt_block_become((uintptr_t)block, ledger_kind_family(rt_key_kind(alloc.key)));
}

void rt_forget_slow(void *block, struct rt_free how, const void *frame)
{
	if (RT_LIKELY(rt_mine.control != NULL) || is_counted())
		rt_forget_ready(block, how, frame);
}

/* Apart, so that what is common in an idle mode saves no registers for it. */
static RT_APART void free_known(void *block, struct rt_free how, const void *frame)
{
	bool is_done = rt_quick_forget(RT_QUICK_GLIBC, true, block, how, frame);

	if (RT_UNLIKELY(!is_done) && RT_LIKELY(rt_tls.freeing != block))
		rt_forget_slow(block, how, frame);
	else if (RT_UNLIKELY(!is_done))
		rt_tls.freeing = NULL;
	rt_next.free(block);
}

/* Most blocks are none that was recorded then, and nobody wants to know how many are freed. */
static RT_APART void free_whole(void *block, struct rt_free how, const void *frame)
{
	const struct ledger_control *control = rt_mine.control;

	if (RT_LIKELY(control != NULL) && rt_mode_is_idle(rt_load(&control->mode)) &&
	    !rt_block_may_be((uintptr_t)block, rt_global.granule_shift) &&
	    RT_LIKELY(rt_tls.freeing != block)) {
		if (rt_global.passes)
			rt_tier_add_no_more();
		rt_next.free(block);
	} else {
		free_known(block, how, frame);
	}
}

void rt_free_slow(void *block, struct rt_free how, const void *frame)
{
	struct rt_thread *thread = rt_tls.thread;
	bool tells;

	if (RT_LIKELY(thread != NULL) && thread->passes && RT_LIKELY(rt_tls.freeing != block) &&
	    RT_LIKELY(rt_tier_pass_free(thread, block, frame, &tells)))
		/* It gives the block, so that no register has to be saved for that. */
		rt_next.free(RT_UNLIKELY(tells) ? rt_tier_tell(thread, block, frame) : block);
	else
		free_whole(block, how, frame);
}

void *rt_resize(void *block, size_t size, size_t request, const void *frame)
{
	bool begun = RT_LIKELY(rt_mine.control != NULL) || is_counted();
	struct rt_resize resize = { 0 };
	void *after;

	if (RT_LIKELY(begun)) {
		rt_resize_say(rt_thread_self(), block);
		rt_resize_begin(block, frame, &resize);
	}
	after = rt_next.realloc(block, request);
	/* A handler may have forked meanwhile, and another thread have made the ledger. */
	if (RT_LIKELY(rt_mine.control != NULL) || is_counted() || begun) {
		rt_resize_end(&resize, block, after, size, frame);
		rt_resize_say(rt_tls.thread, NULL);
	}
	return after;
}
