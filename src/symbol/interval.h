/* SPDX-License-Identifier: MIT */
/*
 * Address intervals that nest (a function, the functions inlined into it) flattened to disjoint
 * segments, so that "what is at this address" is one binary search.
 */
#ifndef SEEP_SYMBOL_INTERVAL_H
#define SEEP_SYMBOL_INTERVAL_H

#include <stddef.h>
#include <stdint.h>

#define SEEP_INTERVAL_NONE UINT32_MAX

struct seep_interval {
	uint64_t from;
	uint64_t to;	/* exclusive */
	uint32_t depth; /* of two that start together the deeper one is inside */
	uint32_t id;	/* the caller's; not SEEP_INTERVAL_NONE */
};

/* Grows by seep_interval_add(). Zero is empty. */
struct seep_interval_list {
	struct seep_interval *items;
	size_t count;
};

struct seep_segment {
	uint64_t from; /* it ends where the next one starts */
	uint32_t id;   /* SEEP_INTERVAL_NONE = a gap */
};

struct seep_segments {
	struct seep_segment *items; /* ascending; the last one is a gap */
	size_t count;
};

/* Add one interval; an empty or backward one is left out. */
void seep_interval_add(struct seep_interval_list *list, struct seep_interval item);

/**
 * seep_segments_build - flatten @list
 * @list: empty afterwards
 *
 * Where intervals overlap, the one that starts last wins; of two that start together, the deeper
 * one. Intervals need not nest: what a later one leaves uncovered goes back to the earlier one.
 */
void seep_segments_build(struct seep_segments *segments, struct seep_interval_list *list);

/* The id at @address, SEEP_INTERVAL_NONE when nothing is there. */
uint32_t seep_segments_find(const struct seep_segments *segments, uint64_t address);
void seep_segments_done(struct seep_segments *segments);

#endif
