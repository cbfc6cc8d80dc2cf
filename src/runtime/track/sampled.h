/* SPDX-License-Identifier: MIT */
/*
 * Blocks on pages of their own, in one region: guard/sample.h makes them. Page i * 2 + 1 of the region is
 * slot i's, and those between are nobody's. Their cells have LEDGER_CELL_GUARDED: nobody looks at what
 * lies in front of them.
 */
#ifndef SEEP_RUNTIME_SAMPLED_H
#define SEEP_RUNTIME_SAMPLED_H

#include "runtime/rt.h"
#include "runtime/track/misuse.h"
#include "runtime/track/pagemap.h"

enum {
	RT_SAMPLED_MAX = 128,
	RT_SAMPLED_BYTES_MAX = LEDGER_PAGE_BYTES,
	RT_REGION_BYTES = (2 * RT_SAMPLED_MAX + 1) * LEDGER_PAGE_BYTES,
};

enum rt_sampled_state {
	RT_SAMPLED_NONE,
	RT_SAMPLED_TAKEN, /* by the thread that makes a block there, or frees it */
	RT_SAMPLED_LIVE,
	RT_SAMPLED_FREED,
};

struct rt_sampled {
	_Atomic uint32_t state;
	uint32_t freed_row; /* 0: not known */
	uint64_t cell;	    /* of a freed block: as its cell was; 0: it was not recorded */
	uintptr_t block;
	size_t size;
};

extern RT_HIDDEN struct rt_sampled rt_sampled[RT_SAMPLED_MAX];

/* Set once. Of no bytes: there are none. */
extern RT_HIDDEN uintptr_t rt_region_start, rt_region_bytes;

RT_INLINE bool rt_is_sampled(const void *block)
{
	return (uintptr_t)block - rt_region_start < rt_region_bytes;
}

static inline uintptr_t rt_sampled_page(const struct rt_sampled *slot)
{
	return rt_region_start + ((uintptr_t)(slot - rt_sampled) * 2 + 1) * LEDGER_PAGE_BYTES;
}

/* Whose page @address lies in, or behind whose it does. */
static inline struct rt_sampled *rt_sampled_at(uintptr_t address)
{
	const uintptr_t page = (address - rt_region_start) / LEDGER_PAGE_BYTES;

	return &rt_sampled[page ? (page - 1) / 2 : 0];
}

/*
 * The live block @at is about to be freed, or given to realloc, by the hook at @frame: notes where that
 * is, and what was written beside it. Not in bookkeeping.
 */
RT_COLD void rt_sampled_retire(const struct rt_block *at, const void *frame);

/* Note what was written beside blocks that live, whatever other threads do meanwhile. Not in bookkeeping. */
RT_COLD void rt_sampled_look(void);

/* Was the last block there, which began at @block, freed? */
RT_COLD bool rt_sampled_is_freed(const void *block, uint32_t *ret_freed_row);

/* What it means that the program came to @address, which nobody may touch now. */
RT_COLD struct rt_finding rt_sampled_judge(uintptr_t address);

#endif
