/* SPDX-License-Identifier: MIT */
/*
 * Predictions. Programs allocate in sequences that come again: from the row of the allocation
 * before and the place that the hook was called from, the next row can be told nineteen times out
 * of twenty. A prediction keeps what a peek from there read, from the leaf to the remembered frame
 * where it landed. When all of that holds now, and the words beyond that frame do too, the walk is
 * the one of then. All addresses are known beforehand: no step waits for what the one before it
 * read. docs/internals/unwinding.md, "Predictions".
 */
#ifndef SEEP_RUNTIME_PREDICT_H
#define SEEP_RUNTIME_PREDICT_H

#include "runtime/rt.h"
#include "runtime/unwind/walk.h"

enum {
	RT_PREDICT_PATIENCE = 64, /* so many more may be in vain than were found */
	RT_PREDICT_LATELY = 4096, /* after so many in vain the two are counted anew */
	RT_PREDICT_PAUSE = 8192,  /* walks that are not predicted then */
};

/* What a walk led to, for whoever walks. */
struct rt_outcome {
	uint64_t key;
	uint32_t epoch;
	uint32_t row;
};

_Static_assert(RT_WALK_FRAMES_MAX * sizeof(struct rt_frame) <= UINT32_MAX,
	       "any may be the landing");

/* Words of a way, in the order of the walk; the first again in place of those it does not have. */
#define RT_PREDICTION_WORDS(n)                     \
	struct {                                   \
		uint64_t value[n];                 \
		int32_t at[n]; /* from the leaf */ \
	}

enum { RT_PREDICTION_NEAR = 6, RT_PREDICTION_FAR = RT_PEEK_WORDS - RT_PREDICTION_NEAR };

/* Three cache lines, of which two are enough for most. */
struct rt_prediction {
	/* ra_at of the hook's return address; 0: not in use. Written last */
	_Alignas(64) uintptr_t leaf;
	struct rt_outcome outcome;
	uint32_t generation;
	uint32_t words;
	/* The frame where it landed: which of the remembered ones, in bytes, and in which state. */
	uint32_t landing_offset;
	int32_t landing_at; /* its ra_at, from the leaf */
	uint64_t landing_hash;
	uintptr_t landing_fp;
	RT_PREDICTION_WORDS(RT_PREDICTION_NEAR) near;
	RT_PREDICTION_WORDS(RT_PREDICTION_FAR) far;
	uint64_t hash; /* of the whole path */
};

_Static_assert(offsetof(struct rt_prediction, far) == 128, "two cache lines");
_Static_assert(sizeof(struct rt_prediction) == 192, "three cache lines");

struct rt_predictions {
	unsigned shift;		/* of a hash, to an index */
	uint32_t replaced;	/* entries in use that gave way to another leaf's or row's */
	uint32_t pause;		/* so many walks are not predicted: it was in vain too often */
	uint32_t in_vain;	/* lately: nothing held */
	_Atomic uint64_t found; /* in all, for the sake of one instruction */
	uint64_t found_before;	/* of these, not lately */
	uint64_t map_bytes;
	struct rt_prediction entries[];
};

RT_INLINE struct rt_prediction *rt_prediction_place(struct rt_predictions *table, uint32_t previous,
						    const uintptr_t *hook)
{
	uint64_t hash = ((uintptr_t)hook ^ hook[1] << 20 ^ (uint64_t)previous << 36) *
			0x9e3779b97f4a7c15ull;

	return &table->entries[hash >> table->shift];
}

RT_INLINE const uintptr_t *rt_from_leaf(uintptr_t leaf, int32_t at)
{
	return (const uintptr_t *)(leaf + (uintptr_t)(intptr_t)at);
}

/* Would a walk from @leaf go this way now? Looks at nothing that the walk would not look at. */
RT_INLINE bool rt_prediction_holds(const struct rt_prediction *way, const struct rt_remembered *now,
				   uintptr_t leaf, uint32_t generation)
{
	const struct rt_frame *landing =
		(const struct rt_frame *)((const char *)now->frames + way->landing_offset);

	if (way->leaf != leaf || way->generation != generation)
		return false;
#pragma GCC unroll 8
	for (uint32_t i = 0; i < RT_PREDICTION_NEAR; i++)
		if (RT_UNLIKELY(*rt_from_leaf(leaf, way->near.at[i]) != way->near.value[i]))
			return false;
	if (way->words > RT_PREDICTION_NEAR) {
#pragma GCC unroll 8
		for (uint32_t i = 0; i < RT_PREDICTION_FAR; i++)
			if (RT_UNLIKELY(*rt_from_leaf(leaf, way->far.at[i]) != way->far.value[i]))
				return false;
	}
	return RT_LIKELY(way->landing_offset < now->count * sizeof(*landing)) &&
	       RT_LIKELY(landing->hash == way->landing_hash) &&
	       RT_LIKELY(landing->ra_at == (uintptr_t)rt_from_leaf(leaf, way->landing_at)) &&
	       (!(landing->rule & RT_RULE_NEEDS_FP) || landing->fp == way->landing_fp) &&
	       RT_LIKELY(rt_walk_reread(now->words, (int64_t)landing->words - 1) < 0);
}

/* There was no prediction of this walk, or it did not hold. */
RT_INLINE void rt_predict_vainly(struct rt_predictions *table)
{
	uint64_t found = rt_load(&table->found) - table->found_before;

	/* One in vain costs more than one that is found saves, beside peeking. */
	if (RT_LIKELY(++table->in_vain <= found + RT_PREDICT_PATIENCE) &&
	    RT_LIKELY(table->in_vain < RT_PREDICT_LATELY))
		return;
	if (table->in_vain > found)
		table->pause = RT_PREDICT_PAUSE;
	table->in_vain = 0;
	table->found_before += found;
}

/* The prediction of a walk from frame @hook that holds; NULL: it has to be walked. */
RT_INLINE const struct rt_prediction *rt_predict(struct rt_walk *walk, const uintptr_t *hook,
						 uint64_t key, uint32_t epoch)
{
	struct rt_predictions *table = walk->predictions;
	const struct rt_prediction *way;

	if (RT_UNLIKELY(!table))
		return NULL;
	if (RT_UNLIKELY(table->pause)) {
		table->pause--;
		return NULL;
	}
	way = rt_prediction_place(table, walk->previous, hook);
	if (!rt_prediction_holds(way, walk->now, (uintptr_t)(hook + 1), rt_load(&rt_generation)) ||
	    RT_UNLIKELY(way->outcome.key != key) || RT_UNLIKELY(way->outcome.epoch != epoch)) {
		rt_predict_vainly(table);
		return NULL;
	}
	rt_bump(&table->found, 1);
	return way;
}

/* A walk from frame @hook was not predicted; @peek led to @outcome: predict that. */
RT_APART void rt_predict_learn(struct rt_walk *walk, const uintptr_t *hook,
			       const struct rt_peek *peek, struct rt_outcome outcome);

#endif
