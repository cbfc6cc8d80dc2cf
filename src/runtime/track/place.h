/* SPDX-License-Identifier: MIT */
/*
 * The row of the place that a hook was called from: predicted, peeked at, or by walking and looking
 * up what the walk led to. Inlined into the two functions that record.
 */
#ifndef SEEP_RUNTIME_PLACE_H
#define SEEP_RUNTIME_PLACE_H

#include "runtime/track/context.h"
#include "runtime/track/operation.h"
#include "runtime/track/thread.h"
#include "runtime/track/thread_names.h"
#include "runtime/unwind/predict.h"

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
 * @hook_key: the hook's part of @key. @again: false, the next allocation from there must not take the
 * common case.
 */
RT_INLINE uint32_t rt_place_find(struct rt_thread *thread, uint64_t hash, struct rt_key hook_key,
				 struct rt_key key, uint32_t epoch, bool again)
{
	struct rt_last_row *last = &thread->last_row;
	uint64_t mode_and_epoch = (uint64_t)epoch << 32 | LEDGER_MODE_ALL;
	uint32_t row = last->row;

	if (last->hash != hash || last->key.word != key.word ||
	    last->mode_and_epoch != mode_and_epoch)
		row = rt_context_row(thread, hash, key, epoch);
	last->hash = hash;
	last->mode_and_epoch = mode_and_epoch;
	last->row = row;
	last->slot = &thread->slots[row & thread->slot_mask];
	/* For once without a stack or without a row of its own: ask again next time. */
	last->key = RT_LIKELY(rt_row_is_context(row)) ? hook_key : RT_KEY_NONE;
	last->quick = RT_LIKELY(rt_row_is_context(row)) && RT_LIKELY(!thread->walk.truncated)
			      ? rt_quick_key(rt_load(&rt_global.quick), hook_key)
			      : UINT64_MAX;
	if (RT_UNLIKELY(key.word != hook_key.word))
		rt_name_check(thread);
	if (RT_UNLIKELY(!again))
		rt_last_row_hide(thread);
	return row;
}

/*
 * The row of a place that need not be walked in full; 0: it has to be. @tried: see rt_place_row.
 */
RT_INLINE uint32_t rt_place_seen(struct rt_thread *thread, struct rt_key key, uint32_t epoch,
				 bool tried, const void *frame)
{
	struct rt_walk *walk = &thread->walk;
	const struct rt_prediction *way = NULL;
	struct rt_peek *peek = &thread->peek;
	uint32_t row;

	if (!tried)
		way = rt_predict(walk, frame, key.word, epoch);
	if (way) {
		rt_verify(&thread->proof, walk, frame, &way->hash);
		walk->is_behind = true;
		return way->outcome.row;
	}
	if (!rt_walk_peek(walk, frame, peek) || rt_walk_drifts(walk, peek->steps))
		return 0;
	row = rt_context_known(peek->hash, key, epoch);
	if (RT_UNLIKELY(!row))
		return 0;
	rt_verify(&thread->proof, walk, frame, &peek->hash);
	if (RT_LIKELY(rt_row_is_context(row)))
		rt_predict_learn(walk, frame, peek, (struct rt_outcome){ key.word, epoch, row });
	walk->is_behind = true;
	return row;
}

/* @tried: a prediction was tried in vain already. In bookkeeping. */
RT_INLINE uint32_t rt_place_row(struct rt_thread *thread, struct ledger_control *control,
				struct rt_key hook_key, bool again, bool tried, const void *frame)
{
	uint32_t epoch = rt_load(&control->epoch);
	struct rt_key key = hook_key;
	uint64_t hash;
	uint32_t row;

	if (RT_UNLIKELY(rt_load(&rt_names_generation)))
		key.word |= (uint64_t)rt_name_now(thread) << RT_KEY_NAME_SHIFT;
	row = rt_place_seen(thread, key, epoch, tried, frame);
	if (RT_LIKELY(row != 0)) {
		thread->walk.previous = row;
		return row;
	}
	hash = rt_walk(&thread->walk, frame);
	thread->walk.is_behind = false;
	thread->walk.drift = 0;
	rt_verify(&thread->proof, &thread->walk, frame, NULL);
	if (RT_UNLIKELY(thread->walk.truncated))
		rt_bump(&thread->cache->walks_truncated, 1);
	row = rt_place_find(thread, hash, hook_key, key, epoch, again);
	thread->walk.previous = row;
	return row;
}

#endif
