/* SPDX-License-Identifier: MIT */
#include "analysis/counts.h"

const char *const seep_measure_names[SEEP_BY_COUNT + 1] = {
	[SEEP_BY_LIVE] = "live",	   [SEEP_BY_PEAK] = "peak", [SEEP_BY_ALLOCS] = "allocs",
	[SEEP_BY_TEMPORARY] = "temporary", [SEEP_BY_LOST] = "lost", [SEEP_BY_GROWTH] = "growth",
};

bool seep_measure_is_bytes(enum seep_measure measure)
{
	return measure == SEEP_BY_LIVE || measure == SEEP_BY_PEAK;
}

struct seep_unit_text seep_measure_text(int64_t value, enum seep_measure measure)
{
	struct seep_unit_text (*const text)(uint64_t) = seep_measure_is_bytes(measure)
								? seep_bytes_text
								: seep_count_text;

	return value < 0 ? seep_change_text(value, text) : text((uint64_t)value);
}

int64_t seep_counts_value(const struct seep_counts *counts, enum seep_measure measure)
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

int64_t seep_counts_blocks(const struct seep_counts *counts, enum seep_measure measure)
{
	if (measure == SEEP_BY_LIVE)
		return counts->live_blocks;
	return measure == SEEP_BY_PEAK ? counts->peak_blocks : seep_counts_value(counts, measure);
}

void seep_counts_add(struct seep_counts *sum, const struct seep_counts *more)
{
	for (size_t i = 0; i < SEEP_COUNTS_FIGURES; i++)
		seep_counts_sum(&sum->figures[i], more->figures[i]);
}

static int64_t figure(uint64_t value)
{
	return value < INT64_MAX ? (int64_t)value : INT64_MAX;
}

struct seep_counts seep_counts_of(const struct seep_profile_context *context)
{
	return (struct seep_counts){
		.allocs = figure(context->allocs),
		.alloc_bytes = figure(context->alloc_bytes),
		.frees = figure(context->frees),
		.freed_bytes = figure(context->freed_bytes),
		.live_blocks = figure(context->live_blocks),
		.live_bytes = figure(context->live_bytes),
		.peak_blocks = figure(context->peak_blocks),
		.peak_bytes = figure(context->peak_bytes),
		.temporary = figure(context->temporary),
	};
}

int64_t seep_context_value(const struct seep_profile_context *context, enum seep_measure measure)
{
	const struct seep_counts counts = seep_counts_of(context);

	return seep_counts_value(&counts, measure);
}

void seep_counts_add_context(struct seep_counts *sum, const struct seep_profile_context *context)
{
	const struct seep_counts more = seep_counts_of(context);

	seep_counts_add(sum, &more);
}
