/* SPDX-License-Identifier: MIT */
/*
 * Walking the stack of a hook's caller: remember, land, re-read. docs/unwinding.md has the proof.
 *
 * A thread keeps its last walk as an array of frames, root first. A new walk steps by rules from
 * the leaf until it meets a remembered frame in the same state, then re-reads, strictly outward,
 * every word that the old walk read beyond it. All equal: the rest is the same. A word differs:
 * the walk goes on by rules from there and may land again further out.
 */
#ifndef SEEP_RUNTIME_WALK_H
#define SEEP_RUNTIME_WALK_H

#include "runtime/rt.h"

/*
 * The state after stepping to a return address: where it lies, what it is, and the frame pointer
 * of the function it returns into.
 */
struct rt_frame {
	uintptr_t slot; /* address of the return address; the stack pointer after it is slot + 8 */
	uintptr_t ra;
	uint64_t hash; /* of this frame and all outer ones */
	uintptr_t fp;
	int32_t fp_offset; /* fp was read at slot + 8 + fp_offset; 0: inherited, not read */
	uint32_t flags;
	uint32_t words; /* index of its first word among the words to re-read */
	uint32_t node;	/* of the path up to here, for src/runtime/track/nodes.c; 0 unknown */
};

/* A word that the remembered walk read, to be read again. */
struct rt_word {
	uintptr_t at;
	uintptr_t value;
};

enum rt_frame_flags {
	RT_FRAME_NEEDS_FP = 1 << 0, /* the way outward from here depends on fp */
	RT_FRAME_USES_FP = 1 << 1,  /* the rule of ra computes the CFA from fp */
	RT_FRAME_SAVES_FP = 1 << 2, /* the rule of ra restores fp from memory */
	RT_FRAME_STEP = 1 << 3,	    /* reached by a rule that read more: step again, do not trust */
	RT_FRAME_EXACT = 1 << 4,    /* ra is where a signal interrupted */
	RT_FRAME_CUT = 1 << 5,	    /* outermost, but not the root: no rule for it */
};

struct rt_walk {
	struct rt_frame *frames; /* the remembered walk, frames[0] the outermost */
	struct rt_frame *fresh;	 /* of the walk in progress, innermost first */
	struct rt_word *words;	 /* of frames, outermost first, up to three for a frame */
	uint32_t count;
	uint32_t capacity; /* in frames, of each of the three */
	uint32_t generation;
	/* The result of the last walk: fresh_count new frames upon frames[0] to frames[base - 1]. */
	uint32_t base;
	uint32_t fresh_count;
	bool stored;	/* they were appended: the whole is frames[0] to frames[count - 1] */
	bool truncated; /* the outermost frame is not the root */
	bool landed;	/* in the last general walk */
	_Atomic uint64_t *full_walks; /* the ledger's counter of walks that landed nowhere */
};

enum { RT_WALK_FRAMES_FIRST = 256, RT_WALK_FRAMES_MAX = 1 << 19, RT_WORDS_BEFORE = 4 };

/* Give @walk its first memory; false when there is none. */
bool rt_walk_start(struct rt_walk *walk);

/* Forget the remembered walk. */
static inline void rt_walk_drop(struct rt_walk *walk)
{
	walk->count = 0;
}

/*
 * Re-read outward, strictly in order, from words[from]: the index of the first word that does
 * not hold, -1 when all do. Each word's address depends on the words before it, so one that is
 * not reached may lie in memory that is gone. Plain predicted branches: a reduction over several
 * words is slower and would read too far.
 */
RT_INLINE int64_t rt_walk_reread(const struct rt_word *words, int64_t from)
{
	/* Before the first stand RT_WORDS_BEFORE that always hold: no odd ones at the end. */
	for (; from >= 0; from -= RT_WORDS_BEFORE) {
		const struct rt_word *word = words + from;

		if (RT_UNLIKELY(*(const uintptr_t *)word[0].at != word[0].value))
			return from;
		if (RT_UNLIKELY(*(const uintptr_t *)word[-1].at != word[-1].value))
			return from - 1;
		if (RT_UNLIKELY(*(const uintptr_t *)word[-2].at != word[-2].value))
			return from - 2;
		if (RT_UNLIKELY(*(const uintptr_t *)word[-3].at != word[-3].value))
			return from - 3;
	}
	return -1;
}

/**
 * rt_walk_step - the general walk; see rt_walk
 */
uint64_t rt_walk_step(struct rt_walk *walk, const uintptr_t *fp, uint32_t generation);

extern _Atomic uint32_t rt_generation;

/**
 * rt_walk - walk from a hook's frame
 * @fp: the hook's frame address: its caller's frame pointer at fp[0], return address at fp[1]
 *
 * Returns the hash of the whole path and fills the result fields of @walk.
 */
RT_INLINE uint64_t rt_walk(struct rt_walk *walk, const uintptr_t *fp)
{
	uint32_t generation = rt_load(&rt_generation);
	uint32_t count = walk->count;
	const struct rt_frame *leaf = &walk->frames[count - 1];

	/* From the same place as the last one: no step at all, and the result stands. */
	if (RT_LIKELY(count != 0) && walk->stored && walk->generation == generation &&
	    leaf->slot == (uintptr_t)(fp + 1) && leaf->ra == fp[1] &&
	    (leaf->fp == fp[0] || !(leaf->flags & RT_FRAME_NEEDS_FP)) &&
	    rt_walk_reread(walk->words, (int64_t)leaf->words - 1) < 0)
		return leaf->hash;
	return rt_walk_step(walk, fp, generation);
}

/*
 * From hook frame @fp outward: does a signal frame (or an end for want of rules) come before the
 * stack address @outer? Uses no thread's state and takes no lock.
 */
RT_COLD bool rt_walk_meets_signal(const uintptr_t *fp, uintptr_t outer);

/* The number of frames of the last walk, and its i-th frame, 0 the outermost. */
static inline uint32_t rt_walk_length(const struct rt_walk *walk)
{
	return walk->base + walk->fresh_count;
}

static inline const struct rt_frame *rt_walk_frame(const struct rt_walk *walk, uint32_t i)
{
	if (walk->stored || i < walk->base)
		return &walk->frames[i];
	return &walk->fresh[walk->base + walk->fresh_count - 1 - i];
}

#endif
