/* SPDX-License-Identifier: MIT */
/*
 * The row of the place that a hook was called from: predicted, peeked at, or by walking and looking
 * up what the walk led to.
 */
#ifndef SEEP_RUNTIME_PLACE_H
#define SEEP_RUNTIME_PLACE_H

#include "runtime/track/operation.h"
#include "runtime/track/thread.h"
#include "runtime/track/thread_names.h"
#include "runtime/unwind/predict.h"

/* All but the "no stack" row (index 0) and rows of ancestors (below it). */
RT_INLINE bool rt_row_has_slots(uint32_t row)
{
	return RT_LIKELY(row - rt_global.first_row - 1 < INT32_MAX);
}

/* Of a context of its own, rather than "no stack" or "other". */
RT_INLINE bool rt_row_is_context(uint32_t row)
{
	return RT_LIKELY(row - rt_global.first_row >= LEDGER_CONTEXT_FIRST);
}

/* None was predicted: by a peek, else by a walk that is kept. At worst it is the "other" row. */
RT_APART uint32_t rt_place_walk(struct rt_thread *thread, struct rt_key key, uint32_t epoch,
				const void *frame);

/* @key: the hook's part. In bookkeeping. */
RT_INLINE uint32_t rt_place_row(struct rt_thread *thread, struct rt_key key, uint32_t epoch,
				const void *frame)
{
	const struct rt_prediction *way;
	uint32_t row;

	if (RT_UNLIKELY(rt_load(&rt_names_generation) != rt_load(&thread->name_generation)))
		rt_name_ask(thread);
	key.word |= thread->tag;
	way = rt_predict(&thread->walk, frame, key.word, epoch);
	if (RT_LIKELY(way != NULL)) {
		rt_verify(&thread->proof, &thread->walk, frame, &way->hash);
		row = way->outcome.row;
	} else {
		row = rt_place_walk(thread, key, epoch, frame);
	}
	thread->walk.previous = row;
	return row;
}

#endif
