/* SPDX-License-Identifier: MIT */
/*
 * The figures of one context, and sums of them: what groups, trees and flat tables add up.
 * Every sum is exact: 64-bit, of contexts that do not overlap.
 */
#ifndef SEEP_ANALYSIS_COUNTS_H
#define SEEP_ANALYSIS_COUNTS_H

#include "profile/profile.h"

struct seep_counts {
	uint64_t allocs;
	uint64_t alloc_bytes;
	uint64_t frees;
	uint64_t freed_bytes;
	uint64_t live_blocks;
	uint64_t live_bytes;
	uint64_t peak_blocks; /* at the process's peak */
	uint64_t peak_bytes;
	uint64_t temporary;
};

/* What a report is ordered by. */
enum seep_measure {
	SEEP_BY_LIVE = 0,  /* bytes alive */
	SEEP_BY_PEAK,	   /* bytes alive at the process's peak */
	SEEP_BY_ALLOCS,	   /* number of allocations */
	SEEP_BY_TEMPORARY, /* number of temporary allocations */
	SEEP_MEASURE_COUNT,
};

/* "live", "peak", "allocs", "temporary", NULL: what people type for each. */
extern const char *const seep_measure_names[SEEP_MEASURE_COUNT + 1];

/* Whether its figures are bytes (else: a number of allocations). */
bool seep_measure_is_bytes(enum seep_measure measure);

uint64_t seep_counts_value(const struct seep_counts *counts, enum seep_measure measure);

/* The blocks that belong to the value: live, at the peak, or the allocations themselves. */
uint64_t seep_counts_blocks(const struct seep_counts *counts, enum seep_measure measure);

void seep_counts_add(struct seep_counts *sum, const struct seep_counts *more);
void seep_counts_add_context(struct seep_counts *sum, const struct seep_profile_context *context);

#endif
