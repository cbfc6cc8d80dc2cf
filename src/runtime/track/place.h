/* SPDX-License-Identifier: MIT */
/*
 * The row of the place that a hook was called from: by a shortcut, or by walking and looking up
 * what the walk led to. Inlined into the two functions that record.
 */
#ifndef SEEP_RUNTIME_PLACE_H
#define SEEP_RUNTIME_PLACE_H

#include "runtime/track/context.h"
#include "runtime/track/operation.h"
#include "runtime/track/thread.h"
#include "runtime/track/thread_names.h"
#include "runtime/unwind/shortcut.h"

/* Rows without slots: the "no stack" row (index 0) and rows of ancestors (below it). */
RT_INLINE bool rt_row_is_own(uint32_t row)
{
	return RT_LIKELY(row - rt_global.first_row - 1 < INT32_MAX);
}

/* Of a context of its own, rather than "no stack" or "other". */
RT_INLINE bool rt_row_is_context(uint32_t row)
{
	return RT_LIKELY(row - rt_global.first_row >= LEDGER_CONTEXT_FIRST);
}

/*
 * @own: the hook's part of @key. @again: the next allocation from there may be as quick as others.
 */
RT_INLINE uint32_t rt_place_find(struct rt_thread *thread, uint64_t hash, struct rt_key own,
				 struct rt_key key, uint32_t epoch, bool again)
{
	struct rt_last_row *last = &thread->last_row;
	uint32_t row;

	if (last->hash == hash && last->key.word == key.word && last->epoch == epoch)
		return last->row;
	row = rt_context_row(thread, hash, key, epoch);
	last->hash = hash;
	/* For once without a stack or without a row of its own: ask again next time. */
	last->key = RT_LIKELY(rt_row_is_context(row)) ? own : RT_KEY_NONE;
	last->epoch = epoch;
	last->row = row;
	if (RT_UNLIKELY(key.word != own.word))
		rt_name_check(thread);
	if (RT_UNLIKELY(!again))
		rt_last_row_hide(thread);
	return row;
}

/* Walk, and find the row. In bookkeeping. */
RT_INLINE uint32_t rt_place_row(struct rt_thread *thread, struct ledger_control *control,
				struct rt_key own, bool again, const void *frame)
{
	struct rt_outcome outcome = { .key = own.word, .epoch = rt_load(&control->epoch) };
	const struct rt_shortcut *way = rt_shortcut_find(&thread->walk, frame);
	uint64_t hash;

	if (RT_UNLIKELY(rt_load(&rt_names_generation)))
		outcome.key |= (uint64_t)rt_name_now(thread) << RT_KEY_NAME_SHIFT;
	if (RT_LIKELY(way != NULL) && RT_LIKELY(way->outcome.key == outcome.key) &&
	    RT_LIKELY(way->outcome.epoch == outcome.epoch)) {
		rt_verify(&thread->proof, &thread->walk, frame, way);
		thread->walk.is_behind = true;
		return way->outcome.row;
	}
	hash = rt_walk(&thread->walk, frame);
	thread->walk.is_behind = false;
	rt_verify(&thread->proof, &thread->walk, frame, NULL);
	if (RT_UNLIKELY(thread->walk.truncated))
		rt_add_own(&thread->cache->walks_truncated, 1);
	outcome.row = rt_place_find(thread, hash, own, (struct rt_key){ outcome.key },
				    outcome.epoch, again);
	if (RT_LIKELY(rt_row_is_context(outcome.row)))
		rt_shortcut_offer(&thread->walk, frame, &outcome);
	return outcome.row;
}

#endif
