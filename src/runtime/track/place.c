/* SPDX-License-Identifier: MIT */
#include "runtime/track/place.h"

#include "runtime/track/context.h"

/* The next allocation from the place of the walk that was kept now may be counted at once. */
static void set_last_row(struct rt_thread *thread, struct rt_key key, uint32_t epoch, uint32_t row)
{
	struct rt_last_row *last = &thread->last_row;
	/* There, what the thread has said is not looked at; and who had no row of its own may have one next time. */
	bool quick = !rt_tls.ignoring && !rt_tls.unrecorded && rt_row_is_context(row) &&
		     !thread->walk.truncated;

	/* In a scope it is recorded in either mode; and who leaves it looks for its row anew. */
	last->mode_and_epoch = (uint64_t)epoch << 32 |
			       (thread->entries && rt_load(&rt_global.control->mode) ==
							   LEDGER_MODE_SCOPED
					? LEDGER_MODE_SCOPED
					: LEDGER_MODE_ALL);
	last->row = row;
	last->slot = &thread->slots[row & thread->slot_mask];
	rt_store(&last->quick, quick ? rt_quick_key(rt_load(&rt_global.quick), rt_key_untagged(key))
				     : UINT64_MAX);
	rt_last_row_check(thread);
}

/* Apart, and nothing is done after it: what a walk takes of the stack is its own. */
static RT_APART uint32_t walk_and_find(struct rt_thread *thread, struct rt_key key, uint32_t epoch,
				       const void *frame)
{
	uint64_t hash = rt_walk(&thread->walk, frame);
	uint32_t row;

	thread->walk.drift = 0;
	rt_verify(&thread->proof, &thread->walk, frame, NULL);
	if (RT_UNLIKELY(!thread->walk.landed))
		rt_bump(&thread->cache->walks_full, 1);
	if (RT_UNLIKELY(thread->walk.truncated))
		rt_bump(&thread->cache->walks_truncated, 1);
	row = rt_context_row(thread, hash, key, epoch);
	set_last_row(thread, key, epoch, row);
	return row;
}

uint32_t rt_place_walk(struct rt_thread *thread, struct rt_key key, uint32_t epoch,
		       const void *frame)
{
	struct rt_walk *walk = &thread->walk;
	struct rt_peek *peek = &thread->peek;
	uint32_t row = 0;

	if (rt_walk_peek(walk, frame, peek) && !rt_walk_drifts(walk, peek->steps))
		row = rt_context_known(peek->hash, key, epoch);
	/* A new stack is walked twice: that is rare. */
	if (RT_UNLIKELY(row == 0))
		return walk_and_find(thread, key, epoch, frame);
	rt_verify(&thread->proof, walk, frame, &peek->hash);
	if (peek->words <= RT_PEEK_WORDS && rt_row_is_context(row))
		rt_predict_learn(walk, frame, peek, (struct rt_outcome){ key.word, epoch, row });
	return row;
}
