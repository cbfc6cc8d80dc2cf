/* SPDX-License-Identifier: MIT */
/*
 * Walking the stack of a hook's caller: remember, land, re-read. docs/internals/unwinding.md has
 * the proof.
 *
 * A thread keeps its last walk as an array of frames, root first. A new walk steps by rules from
 * the leaf until it meets a remembered frame in the same state, then re-reads, strictly outward,
 * every word that the old walk read beyond it. All equal: the rest is the same. A word differs:
 * the walk goes on by rules from there and may land again further out.
 *
 * A thread that runs on several stacks (fibers) keeps the last walks of a few of them.
 */
#ifndef SEEP_RUNTIME_WALK_H
#define SEEP_RUNTIME_WALK_H

#include "runtime/rt.h"
#include "runtime/unwind/rules.h"
#include "runtime/unwind/step.h"

/*
 * The state after stepping to a return address: where it lies, what it is, the frame pointer of
 * the function it returns into, and the rule for going on.
 */
struct rt_frame {
	uintptr_t ra_at; /* where the return address lies; the stack pointer after it is 8 more */
	uintptr_t ra;
	uint64_t hash; /* of this frame and all outer ones */
	uintptr_t fp;  /* read as the rule of the next inner frame says, or inherited from it */
	rt_rule rule;
	uint32_t words; /* index of its first word among the words to re-read */
	/* For src/runtime/track/nodes.c: of the path up to here; 0 unknown, and then no hash. */
	uint32_t node;
	uint64_t node_hash;
};

/* The same, of a walk in progress. */
struct rt_fresh {
	uintptr_t ra_at;
	uintptr_t ra;
	uintptr_t fp;
	rt_rule rule;
};

/* A word that the remembered walk read, to be read again. */
struct rt_word {
	uintptr_t at;
	uintptr_t value;
};

/*
 * A walk to be landed on, in a mapping of its own that is made whole and then pointed at: a hook
 * may be left by longjmp at any place.
 */
struct rt_remembered {
	uint32_t capacity; /* in frames; twice that in words */
	uint32_t count;	   /* of frames */
	uint32_t generation;
	bool truncated;		 /* the outermost frame is not the root: there is no rule for it */
	uintptr_t root;		 /* ra_at of the outermost frame; 0: nothing is remembered */
	struct rt_word *words;	 /* of frames, outermost first, up to two for a frame */
	struct rt_frame *frames; /* frames[0] the outermost */
};

enum { RT_STACKS = 4 };

struct rt_walk {
	/* Of the last walk, if it was stored: what recognises another one from the same place. */
	uintptr_t leaf; /* ra_at of its innermost frame; 0: it was not stored */
	const struct rt_word *words;
	int64_t last_word; /* index of the innermost word to re-read */
	uint32_t generation;
	bool stored;	/* the result is all of now->frames */
	bool truncated; /* the outermost frame is not the root */
	bool landed;
	uint32_t drift;	     /* peeks since the last walk was kept, and their steps */
	uint32_t drift_most; /* then a walk is kept */
	/* The result: fresh_count new frames upon now->frames[0] to now->frames[base - 1]. */
	uint32_t base;
	uint32_t fresh_count;
	struct rt_fresh *fresh;	   /* of the walk in progress, innermost first; see remembered.c */
	struct rt_remembered *now; /* of the stack that was walked last */
	uintptr_t floor;	   /* the next remembered root below the present one; 0: none */
	struct rt_stack stack;	   /* the thread's own */
	struct rt_state state;	   /* of the walk in progress: a stack may be tiny */
	struct rt_predictions *predictions; /* NULL: none yet; src/runtime/unwind/predict.h */
	uint32_t previous;  /* row of the last place that was predicted, peeked at or walked from */
	uint32_t oldest;    /* of those remembered: to be replaced next */
	uint32_t not_noted; /* walks that could have been, had there been predictions */
	uint32_t other;	    /* page number, in 32 bits, of another's stack on which it ran last */
	struct rt_remembered *remembered[RT_STACKS];
};

enum { RT_WALK_FRAMES_MAX = 1 << 19, RT_WORDS_BEFORE = 8 };

/*
 * Re-read outward, strictly in order, from words[from]: the index of the first word that does
 * not hold, -1 when all do. Each word's address depends on the words before it, so one that is
 * not reached may lie in memory that is gone. Plain predicted branches: a reduction over several
 * words is slower and would read too far.
 */
RT_INLINE int64_t rt_walk_reread(const struct rt_word *words, int64_t from)
{
	const struct rt_word *word = words + from;

	/* Before the first stand RT_WORDS_BEFORE that always hold: no odd ones at the end. */
	for (; word >= words; word -= RT_WORDS_BEFORE) {
#pragma GCC unroll 8
		for (int i = 0; i > -RT_WORDS_BEFORE; i--)
			if (RT_UNLIKELY(*(const uintptr_t *)word[i].at != word[i].value))
				return word + i - words;
	}
	return -1;
}

/*
 * Peeking: a walk that is not kept. A thread that allocates in turns from several places takes a
 * few steps from each of them to a frame that it has in common with the remembered walk. These
 * steps and what they read are those of any walk, so its hash is as exact; but nothing is written,
 * and the remembered walk stays as it was. docs/internals/unwinding.md, "Peeking".
 */
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

/* From frame @hook. False: it is no common walk, and nothing is known. */
bool rt_walk_peek(struct rt_walk *walk, const uintptr_t *hook, struct rt_peek *peek);

/*
 * From the same place as the last walk, whose words all hold? Then no step is needed at all and
 * its result stands. Among the words are the hook's own return address and, if the way outward
 * depends on it, the frame pointer that the hook saved.
 */
RT_INLINE bool rt_walk_repeats(const struct rt_walk *walk, const uintptr_t *fp)
{
	return RT_LIKELY(walk->leaf == (uintptr_t)(fp + 1)) &&
	       RT_LIKELY(walk->generation == rt_load(&rt_generation)) &&
	       RT_LIKELY(rt_walk_reread(walk->words, walk->last_word) < 0);
}

/**
 * rt_walk - walk from a hook's frame
 * @fp: the hook's frame address: its caller's frame pointer at fp[0], return address at fp[1]
 *
 * Returns the hash of the whole path and fills the result fields of @walk.
 */
uint64_t rt_walk(struct rt_walk *walk, const uintptr_t *fp);

/*
 * Does the function of ours with frame address @outer still run, further out than the hook with
 * frame @fp? So it is if a signal handler interrupted it, or if it called what called us; it is not
 * if it was left by longjmp. When in doubt (no rule) it is. Uses no thread's state, takes no lock.
 */
RT_COLD bool rt_walk_is_inside(const uintptr_t *fp, uintptr_t outer);

/*
 * Outward from our function with frame address @fp: of the first function that @is_in holds for,
 * the address of its return address. 0: there is none, or the way ends before. As above, uses no
 * thread's state and takes no lock.
 */
RT_COLD uintptr_t rt_walk_seek(const uintptr_t *fp, bool (*is_in)(uintptr_t pc));

/*
 * Has code of ours called, or been interrupted by what called, the function of ours with frame
 * address @fp? When in doubt it has. As above.
 */
RT_COLD bool rt_walk_is_from_us(const uintptr_t *fp);

static inline uint32_t rt_walk_length(const struct rt_walk *walk)
{
	return walk->base + walk->fresh_count;
}

/* Did the last walk find a frame by following a frame pointer through code without a rule? */
bool rt_walk_follows_fp(const struct rt_walk *walk);

/* The @i-th return address of the last walk, 0 the outermost. @ret_exact: see RT_RULE_EXACT. */
static inline uintptr_t rt_walk_address(const struct rt_walk *walk, uint32_t i, bool *ret_exact)
{
	const struct rt_fresh *fresh;

	*ret_exact = false;
	if (walk->stored || i < walk->base)
		return walk->now->frames[i].ra;
	fresh = &walk->fresh[walk->base + walk->fresh_count - 1 - i];
	*ret_exact = fresh->rule & RT_RULE_EXACT;
	return fresh->ra;
}

#endif
