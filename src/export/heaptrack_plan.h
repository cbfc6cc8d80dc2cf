/* SPDX-License-Identifier: MIT */
/*
 * Which allocations and frees have the sums that a context has. A profile has sums, heaptrack's
 * format is a log of events from which its readers count:
 *
 *	up    the blocks live at the peak are allocated; those live neither then nor at the end are
 *	      allocated and freed on the way
 *	down  those that are not live at the end are freed
 *	end   those live at the end that were not there at the peak are allocated
 *
 * Exact are allocations, temporary ones, bytes at the peak and bytes live at the end, of each
 * context; its blocks have mean sizes. With a divisor one allocation stands for that many; bytes
 * stay exact.
 */
#ifndef SEEP_EXPORT_HEAPTRACK_PLAN_H
#define SEEP_EXPORT_HEAPTRACK_PLAN_H

#include "profile/profile.h"

/* Blocks: @larger_count of them have size + 1 bytes, the others size. */
struct seep_plan_blocks {
	uint64_t count;
	uint64_t larger_count;
	uint64_t size;
	uint32_t ids[2]; /* the caller's: of size, of size + 1 */
};

enum seep_plan_part {
	SEEP_PLAN_KEPT,	   /* live at the peak and at the end */
	SEEP_PLAN_AT_PEAK, /* live at the peak, freed behind it */
	SEEP_PLAN_AT_END,  /* allocated behind the peak, live at the end */
	SEEP_PLAN_PASSING, /* allocated and freed before the peak */
	SEEP_PLAN_PARTS,
};

struct seep_plan {
	uint64_t first_ns;
	uint32_t context;   /* index */
	uint32_t id;	    /* the caller's */
	bool early;	    /* what passes has room before any other blocks only */
	bool last_is_freed; /* the last block at the peak is freed before the next allocation */
	uint64_t temporary; /* of those that pass */
	struct seep_plan_blocks parts[SEEP_PLAN_PARTS];
};

struct seep_plans {
	struct seep_plan *items; /* in the order in which they go up */
	uint32_t count;
	uint64_t divisor;
	/*
	 * The plan that one allocation more belongs to, of 0 bytes and never freed, so that a log
	 * has a size of 0 to free between other things; count: none can spare one.
	 */
	uint32_t spare;
	/* What all amount to at most, reached by the last block that goes up. */
	uint64_t peak_bytes;
};

/* One plan for each context. At most @allocs_max allocations and a few for each context. */
void seep_plans_init(struct seep_plans *plans, const struct seep_profile *profile,
		     uint64_t allocs_max);
void seep_plans_done(struct seep_plans *plans);

/* The bytes of them all. */
static inline uint64_t seep_plan_bytes(const struct seep_plan_blocks *blocks)
{
	return blocks->count * blocks->size + blocks->larger_count;
}

#endif
