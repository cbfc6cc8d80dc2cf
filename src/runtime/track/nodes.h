/* SPDX-License-Identifier: MIT */
/*
 * The ledger's tree of frames: folding recursion, finding or adding the nodes of a path. All
 * under the slow lock.
 */
#ifndef SEEP_RUNTIME_NODES_H
#define SEEP_RUNTIME_NODES_H

#include "runtime/rt.h"
#include "runtime/unwind/walk.h"

/* A set of indices into some table, found by hash; the caller compares. Open addressing. */
struct rt_index_set {
	uint64_t *entries; /* half of the hash | index + 1; 0 free */
	uint64_t mask;
	uint64_t used;
};

/*
 * The next candidate for @hash, to be compared by the caller, from @place on, which begins with
 * rt_index_place(). UINT32_MAX ends the search, and @place is then where a new index belongs. An
 * entry with another half of a hash costs no look at what it stands for.
 */
static inline uint32_t rt_index_next(const struct rt_index_set *set, uint64_t hash, uint64_t *place)
{
	for (uint64_t entry; (entry = set->entries[*place & set->mask]) != 0; ++*place)
		if (entry >> 32 == hash >> 32) {
			++*place;
			return (uint32_t)entry - 1;
		}
	return UINT32_MAX;
}

/* The same half: so a set can grow without looking at what it holds. */
static inline uint64_t rt_index_place(uint64_t hash)
{
	return hash >> 32;
}

RT_COLD bool rt_index_grow(struct rt_index_set *set);

/* Room for one more; false without memory. */
static inline bool rt_index_reserve(struct rt_index_set *set)
{
	return RT_LIKELY(set->entries != NULL && set->used * 3 < set->mask * 2) ||
	       rt_index_grow(set);
}

static inline void rt_index_put(struct rt_index_set *set, uint64_t hash, uint64_t place,
				uint32_t index)
{
	set->entries[place & set->mask] = hash >> 32 << 32 | (index + 1);
	set->used++;
}

struct rt_path {
	uint32_t leaf;
	bool folded; /* some frames stand for several */
	bool cut;    /* by depth= */
	bool full;   /* the tables had no room: leaf means nothing */
};

/* Add the walk's frames; what was added before is noted in the remembered ones. */
void rt_nodes_add(struct rt_walk *walk, struct rt_path *ret_path);

/* Publish the root node; false when there is no memory. */
bool rt_nodes_start(void);
void rt_nodes_forked(void);

#endif
