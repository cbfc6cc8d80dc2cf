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

RT_INLINE void rt_peek_note(struct rt_peek *peek, uintptr_t at, uintptr_t value)
{
	if (peek->words < RT_PEEK_WORDS)
		peek->word[peek->words] = (struct rt_word){ at, value };
	peek->words++;
}

/* Is @mem the state that a new walk is in? */
RT_INLINE bool rt_frame_is(const struct rt_frame *mem, uintptr_t ra_at, uintptr_t ra, uintptr_t fp)
{
	return mem->ra_at == ra_at && mem->ra == ra &&
	       (!(mem->rule & RT_RULE_NEEDS_FP) || mem->fp == fp);
}

/* A walk from frame @hook; see rt_walk. False: it is no common one, and nothing is known. */
RT_INLINE bool rt_walk_peek(struct rt_walk *walk, const uintptr_t *hook, struct rt_peek *peek)
{
	const struct rt_memory *now = walk->now;
	const struct rt_frame *mem = now->frames + (int64_t)now->count - 1;
	uint32_t generation = rt_load(&rt_generation);
	uintptr_t ra_at = (uintptr_t)(hook + 1), ra = hook[1], fp = hook[0],
		  fp_at = (uintptr_t)hook;
	uintptr_t passed[RT_PEEK_STEPS];
	uint32_t steps = 0;
	uint64_t hash;

	/* On another stack, mem is not found, or its words do not follow from this walk's. */
	if (RT_UNLIKELY(ra_at > now->root) || RT_UNLIKELY(ra_at <= walk->floor) ||
	    RT_UNLIKELY(now->generation != generation) || RT_UNLIKELY(now->truncated))
		return false;
	peek->words = 0;
	for (;;) {
		rt_rule rule;
		uintptr_t cfa;

		rt_peek_note(peek, ra_at, ra);
		while (mem->ra_at < ra_at)
			mem--;
		if (rt_frame_is(mem, ra_at, ra, fp)) {
			int64_t differs = rt_walk_reread(now->words, (int64_t)mem->words - 1);

			if (RT_LIKELY(differs < 0))
				break;
			/* As far as words hold, the frames of then are those of now. */
			peek->words = RT_PEEK_WORDS + 1;
			for (rule = 0; mem->words > differs; mem--) {
				if (RT_UNLIKELY(steps == RT_PEEK_STEPS) ||
				    RT_UNLIKELY(rt_rule_kind(rule) == RT_RULE_FOLLOWS_FP))
					return false;
				if (rule & RT_RULE_SAVES_FP)
					fp = rt_word_at(mem->ra_at + 8 + rt_rule_fp_offset(rule));
				rule = mem->rule;
				ra_at = mem->ra_at;
				passed[steps++] = mem->ra;
			}
		} else {
			if (RT_UNLIKELY(steps == RT_PEEK_STEPS))
				return false;
			passed[steps++] = ra;
			rule = rt_memo_find(&rt_rules, rt_rule_key(ra, false, generation));
		}
		cfa = ra_at + 8 + rt_rule_cfa_offset(rule);
		if (RT_UNLIKELY(!(rule & RT_RULE_FAST))) {
			cfa = fp + rt_rule_cfa_offset(rule);
			if (rt_rule_kind(rule) != CFI_FP || !rt_step_is_plausible(ra_at + 8, cfa))
				return false;
			rt_peek_note(peek, fp_at, fp);
		}
		if (rule & RT_RULE_SAVES_FP) {
			fp_at = cfa + rt_rule_fp_offset(rule);
			fp = rt_word_at(fp_at);
		}
		ra_at = cfa - 8;
		ra = rt_word_at(ra_at);
	}
	peek->landing = (uint32_t)(mem - now->frames);
	if (mem->rule & RT_RULE_NEEDS_FP)
		rt_peek_note(peek, fp_at, fp);
	hash = mem->hash;
	for (uint32_t i = steps; i > 0; i--)
		hash = core_hash_step(hash, passed[i - 1]);
	peek->hash = hash;
	peek->steps = steps;
	return true;
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
