/* SPDX-License-Identifier: MIT */
/*
 * Peeking: a walk that is not kept. A thread that allocates in turns from several places takes a
 * few steps from each of them to a frame that it has in common with the remembered walk. These
 * steps and what they read are those of any walk, so its hash is as exact; but nothing is written,
 * and the remembered walk stays as it was. docs/internals/unwinding.md, "Peeking".
 */
#ifndef SEEP_RUNTIME_PEEK_H
#define SEEP_RUNTIME_PEEK_H

#include "runtime/rt.h"
#include "runtime/unwind/step.h"
#include "runtime/unwind/walk.h"

enum {
	RT_PEEK_STEPS = 32, /* at most: who has more to walk keeps it */
	RT_PEEK_WORDS = 10, /* that are kept of what it read */
	RT_PEEK_DRIFT = 48, /* so many peeks and their steps, and a walk is kept */
	RT_PEEK_DRIFT_MOST = 4096,
	RT_PEEK_NEAR = 6, /* steps: more, and what is kept is no good */
};

struct rt_peek {
	uint64_t hash;
	uint32_t steps;
	uint32_t landing; /* index of the remembered frame whose way on is this one's too */
	uint32_t words;	  /* that were read up to there; more than RT_PEEK_WORDS: not all kept */
	struct rt_word word[RT_PEEK_WORDS];
};

/* Is @mem the state that a new walk is in? */
RT_INLINE bool rt_frame_is(const struct rt_frame *mem, uintptr_t ra_at, uintptr_t ra, uintptr_t fp)
{
	return mem->ra_at == ra_at && mem->ra == ra &&
	       (!(mem->rule & RT_RULE_NEEDS_FP) || mem->fp == fp);
}

/* Has the remembered walk become too old to peek from, with a peek of @steps? */
RT_INLINE bool rt_walk_drifts(struct rt_walk *walk, uint32_t steps)
{
	walk->drift += steps + 1;
	if (RT_LIKELY(walk->drift <= walk->drift_most))
		return false;
	/* Where the last one that was kept did not help, the next one is kept later. */
	walk->drift = 0;
	if (steps <= RT_PEEK_NEAR)
		walk->drift_most = RT_PEEK_DRIFT;
	else if (walk->drift_most <= RT_PEEK_DRIFT_MOST / 2)
		walk->drift_most *= 2;
	return true;
}

#endif
