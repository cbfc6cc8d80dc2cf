/* SPDX-License-Identifier: MIT */
/* Sums of figures, and the names of what to order by. */
#include "analysis/counts.h"

const char *const seep_measure_names[SEEP_MEASURE_COUNT + 1] = {
	[SEEP_BY_LIVE] = "live",
	[SEEP_BY_PEAK] = "peak",
	[SEEP_BY_ALLOCS] = "allocs",
	[SEEP_BY_TEMPORARY] = "temporary",
};

bool seep_measure_is_bytes(enum seep_measure measure)
{
	return measure == SEEP_BY_LIVE || measure == SEEP_BY_PEAK;
}

uint64_t seep_counts_value(const struct seep_counts *counts, enum seep_measure measure)
{
	switch (measure) {
	case SEEP_BY_PEAK:
		return counts->peak_bytes;
	case SEEP_BY_ALLOCS:
		return counts->allocs;
	case SEEP_BY_TEMPORARY:
		return counts->temporary;
	case SEEP_BY_LIVE:
	case SEEP_MEASURE_COUNT:
		break;
	}
	return counts->live_bytes;
}

uint64_t seep_counts_blocks(const struct seep_counts *counts, enum seep_measure measure)
{
	switch (measure) {
	case SEEP_BY_PEAK:
		return counts->peak_blocks;
	case SEEP_BY_ALLOCS:
		return counts->allocs;
	case SEEP_BY_TEMPORARY:
		return counts->temporary;
	case SEEP_BY_LIVE:
	case SEEP_MEASURE_COUNT:
		break;
	}
	return counts->live_blocks;
}

void seep_counts_add(struct seep_counts *sum, const struct seep_counts *more)
{
	sum->allocs += more->allocs;
	sum->alloc_bytes += more->alloc_bytes;
	sum->frees += more->frees;
	sum->freed_bytes += more->freed_bytes;
	sum->live_blocks += more->live_blocks;
	sum->live_bytes += more->live_bytes;
	sum->peak_blocks += more->peak_blocks;
	sum->peak_bytes += more->peak_bytes;
	sum->temporary += more->temporary;
}

void seep_counts_add_context(struct seep_counts *sum, const struct seep_profile_context *context)
{
	const struct seep_counts more = {
		.allocs = context->allocs,
		.alloc_bytes = context->alloc_bytes,
		.frees = context->frees,
		.freed_bytes = context->freed_bytes,
		.live_blocks = context->live_blocks,
		.live_bytes = context->live_bytes,
		.peak_blocks = context->peak_blocks,
		.peak_bytes = context->peak_bytes,
		.temporary = context->temporary,
	};

	seep_counts_add(sum, &more);
}
