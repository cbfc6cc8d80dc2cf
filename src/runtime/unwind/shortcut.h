/* SPDX-License-Identifier: MIT */
/*
 * Shortcuts. A thread that allocates in turns from several places takes the same few steps again
 * and again, from each place to the frame that it has in common with the last walk. A shortcut
 * keeps the words that were read on such a way, and the remembered frame where it landed. When
 * they all hold now, and the words beyond that frame do too, the walk is the one of then, and no
 * step was taken. docs/internals/unwinding.md, "Shortcuts".
 *
 * Looking for one writes nothing: the last walk stays remembered as it was.
 */
#ifndef SEEP_RUNTIME_SHORTCUT_H
#define SEEP_RUNTIME_SHORTCUT_H

#include "runtime/rt.h"
#include "runtime/unwind/walk.h"

enum {
	RT_SHORTCUT_WORDS = 10,
	RT_SHORTCUT_WAYS = 4, /* from one place, by different callers */
	RT_SHORTCUT_LATELY = 4096,
	RT_SHORTCUT_PATIENCE = 256,
	RT_SHORTCUT_PAUSE = 8192,
};

/* What a walk led to, for whoever walks. */
struct rt_outcome {
	uint64_t key;
	uint32_t epoch;
	uint32_t row;
};

_Static_assert(RT_WALK_FRAMES_MAX <= 1 << 24, "any frame may be the landing");

struct rt_shortcut {
	uintptr_t leaf; /* ra_at of the hook's return address; 0: not in use. Written last */
	uint32_t generation;
	/* The frame where it landed: which of the remembered ones, and in which state. */
	uint32_t landing : 24;
	uint32_t words : 8;
	struct rt_outcome outcome;
	uintptr_t landing_ra_at;
	uintptr_t landing_fp;
	uint64_t landing_hash;
	uint64_t hash; /* of the whole path */
	/* In the order of the walk; places relative to the leaf. */
	uint64_t value[RT_SHORTCUT_WORDS];
	int32_t at[RT_SHORTCUT_WORDS];
};

/*
 * Sets of RT_SHORTCUT_WAYS entries; before them their tags, so that most that are none cost a line.
 */
struct rt_shortcuts {
	unsigned shift;	   /* of a hash, to the index of a set */
	uint32_t offered;  /* walks that could have become shortcuts */
	uint32_t replaced; /* entries in use that gave way to others */
	uint32_t pause;	   /* so many walks are not looked for: it was in vain too often */
	uint32_t found;	   /* lately */
	uint32_t in_vain;  /* lately looked at, and none held */
	uint64_t map_bytes;
	struct rt_shortcut *entries;
	uint32_t tags[];
};

RT_INLINE uint64_t rt_shortcut_hash(const uintptr_t *fp)
{
	return ((uintptr_t)fp ^ fp[1] << 20) * 0x9e3779b97f4a7c15ull;
}

/* The first of the entries for walks with @hash. */
RT_INLINE uint64_t rt_shortcut_place(const struct rt_shortcuts *table, uint64_t hash)
{
	return (hash >> table->shift) * RT_SHORTCUT_WAYS;
}

/* Never 0, which is the tag of an entry not in use. */
RT_INLINE uint32_t rt_shortcut_tag(uint64_t hash)
{
	return (uint32_t)(hash >> 16) | 1;
}

/* Would a walk from @leaf go this way now? Looks at nothing that the walk would not look at. */
RT_INLINE bool rt_shortcut_holds(const struct rt_shortcut *way, const struct rt_memory *now,
				 uintptr_t leaf, uint32_t generation)
{
	const struct rt_frame *landing;

	if (way->leaf != leaf || way->generation != generation)
		return false;
	for (uint32_t i = 0; i < way->words; i++)
		if (*(const uintptr_t *)(leaf + (uintptr_t)(intptr_t)way->at[i]) != way->value[i])
			return false;
	landing = &now->frames[way->landing];
	return way->landing < now->count && landing->ra_at == way->landing_ra_at &&
	       landing->hash == way->landing_hash &&
	       (!(landing->rule & RT_RULE_NEEDS_FP) || landing->fp == way->landing_fp) &&
	       rt_walk_reread(now->words, (int64_t)landing->words - 1) < 0;
}

/* There were shortcuts from this place, and none held. */
RT_INLINE void rt_shortcut_note_vain(struct rt_shortcuts *table)
{
	if (RT_UNLIKELY(++table->in_vain > 2 * table->found + RT_SHORTCUT_PATIENCE)) {
		table->in_vain = table->found = 0;
		table->pause = RT_SHORTCUT_PAUSE;
	}
}

/* The shortcut of a walk from hook frame @fp; NULL: it has to be walked. */
RT_INLINE const struct rt_shortcut *rt_shortcut_find(struct rt_walk *walk, const uintptr_t *fp)
{
	struct rt_shortcuts *table = walk->shortcuts;
	uint32_t generation = rt_load(&rt_generation);
	bool looked = false;
	uint64_t hash, place;
	uint32_t tag;

	if (RT_UNLIKELY(!table))
		return NULL;
	if (table->pause) {
		table->pause--;
		return NULL;
	}
	hash = rt_shortcut_hash(fp);
	place = rt_shortcut_place(table, hash);
	tag = rt_shortcut_tag(hash);
	for (unsigned i = 0; i < RT_SHORTCUT_WAYS; i++) {
		if (table->tags[place + i] != tag)
			continue;
		looked = true;
		if (rt_shortcut_holds(&table->entries[place + i], walk->now, (uintptr_t)(fp + 1),
				      generation)) {
			if (RT_UNLIKELY(++table->found == RT_SHORTCUT_LATELY)) {
				table->found /= 2;
				table->in_vain /= 2;
			}
			return &table->entries[place + i];
		}
	}
	if (looked)
		rt_shortcut_note_vain(table);
	return NULL;
}

/*
 * The last walk, from hook frame @fp, was not by a shortcut: it may become one, if it landed after
 * a few frames. Not each time: most walks do not come again, and would drive out those that do.
 */
RT_APART void rt_shortcut_offer(struct rt_walk *walk, const uintptr_t *fp,
				const struct rt_outcome *outcome);

#endif
