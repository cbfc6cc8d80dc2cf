/* SPDX-License-Identifier: MIT */
#include "analysis/counts.h"

#include "core/bits.h"
#include "profile/estimate.h"

#include <math.h>
#include <stdio.h>

const char *const seep_measure_names[SEEP_BY_COUNT + 1] = {
	[SEEP_BY_LIVE] = "live",	   [SEEP_BY_PEAK] = "peak", [SEEP_BY_ALLOCS] = "allocs",
	[SEEP_BY_TEMPORARY] = "temporary", [SEEP_BY_LOST] = "lost", [SEEP_BY_GROWTH] = "growth",
};

static const struct {
	int value, blocks;
} figures[SEEP_MEASURE_COUNT] = {
	[SEEP_BY_LIVE] = { SEEP_FIGURE_live_bytes, SEEP_FIGURE_live_blocks },
	[SEEP_BY_PEAK] = { SEEP_FIGURE_peak_bytes, SEEP_FIGURE_peak_blocks },
	[SEEP_BY_ALLOCS] = { SEEP_FIGURE_allocs, SEEP_FIGURE_allocs },
	[SEEP_BY_TEMPORARY] = { SEEP_FIGURE_temporary, SEEP_FIGURE_temporary },
};

bool seep_measure_is_bytes(enum seep_measure measure)
{
	return figures[measure].value != figures[measure].blocks;
}

bool seep_figure_is_known(const struct seep_profile *profile, int figure)
{
	return seep_profile_knows(profile, seep_figure_names[figure]);
}

bool seep_measure_is_known(const struct seep_profile *profile, enum seep_measure measure)
{
	return seep_figure_is_known(profile, figures[measure].value);
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
	return counts->figures[figures[measure].value];
}

uint64_t seep_counts_figure_error(const struct seep_counts *counts, int figure)
{
	return seep_error_ceil(sqrt(counts->squares[figure]));
}

uint64_t seep_counts_error(const struct seep_counts *counts, enum seep_measure measure)
{
	return seep_counts_figure_error(counts, figures[measure].value);
}

struct seep_estimate_text seep_estimate_text(struct seep_unit_text value, uint64_t error,
					     struct seep_unit_text (*text)(uint64_t))
{
	struct seep_estimate_text both;

	(void)snprintf(both.text, sizeof(both.text), "%s%s%s", value.text, error ? " ±" : "",
		       error ? text(error).text : "");
	return both;
}

struct seep_estimate_text seep_value_text(int64_t value, double square, enum seep_measure measure)
{
	return seep_estimate_text(seep_measure_text(value, measure), seep_error_ceil(sqrt(square)),
				  seep_measure_is_bytes(measure) ? seep_bytes_text
								 : seep_count_text);
}

struct seep_estimate_text seep_counts_text(const struct seep_counts *counts,
					   enum seep_measure measure)
{
	return seep_value_text(seep_counts_value(counts, measure),
			       counts->squares[figures[measure].value], measure);
}

struct seep_estimate_text seep_figure_text(const struct seep_counts *counts, int figure)
{
	struct seep_unit_text (*const text)(uint64_t) = seep_figure_blocks[figure] == figure
								? seep_count_text
								: seep_bytes_text;

	return seep_estimate_text(text((uint64_t)counts->figures[figure]),
				  seep_counts_figure_error(counts, figure), text);
}

struct seep_things_text seep_counted_text(const struct seep_counts *counts, int figure,
					  const char *thing)
{
	const uint64_t count = (uint64_t)counts->figures[figure];
	const uint64_t error = seep_counts_figure_error(counts, figure);
	struct seep_things_text text = seep_things_text(count, thing);

	if (error)
		(void)snprintf(text.text, sizeof(text.text), "%s ±%s %ss",
			       seep_count_text(count).text, seep_count_text(error).text, thing);
	return text;
}

uint64_t seep_counts_part_error(const struct seep_counts *part, const struct seep_counts *whole,
				uint64_t whole_error, int figure)
{
	const uint64_t is = (uint64_t)part->figures[figure];
	uint64_t most = (uint64_t)whole->figures[figure];

	core_add(&most, whole_error);
	return core_smaller(seep_counts_figure_error(part, figure),
			    core_larger(is, most - core_smaller(is, most)));
}

int seep_measure_blocks(enum seep_measure measure)
{
	return figures[measure].blocks;
}

int64_t seep_counts_blocks(const struct seep_counts *counts, enum seep_measure measure)
{
	return counts->figures[figures[measure].blocks];
}

void seep_counts_add(struct seep_counts *sum, const struct seep_counts *more)
{
	for (int i = 0; i < SEEP_FIGURE_COUNT; i++) {
		seep_counts_sum(&sum->figures[i], more->figures[i]);
		sum->squares[i] += more->squares[i];
	}
}

void seep_counts_set_errors(struct seep_counts *counts, uint64_t blocks_error, uint64_t bytes_error)
{
	counts->squares[SEEP_FIGURE_live_blocks] = (double)blocks_error * (double)blocks_error;
	counts->squares[SEEP_FIGURE_live_bytes] = (double)bytes_error * (double)bytes_error;
}

struct seep_counts seep_counts_of(const struct seep_profile_context *context)
{
	struct seep_counts counts = { 0 };

	for (int i = 0; i < SEEP_FIGURE_COUNT; i++) {
		counts.figures[i] = (int64_t)core_smaller(context->figures[i], INT64_MAX);
		if (context->errors)
			counts.squares[i] = (double)context->errors[i] * (double)context->errors[i];
	}
	return counts;
}

int64_t seep_context_value(const struct seep_profile_context *context, enum seep_measure measure)
{
	return (int64_t)core_smaller(context->figures[figures[measure].value], INT64_MAX);
}

double seep_context_square(const struct seep_profile_context *context, enum seep_measure measure)
{
	const int figure = figures[measure].value;

	return context->errors ? (double)context->errors[figure] * (double)context->errors[figure]
			       : 0;
}

void seep_counts_add_context(struct seep_counts *sum, const struct seep_profile_context *context)
{
	const struct seep_counts more = seep_counts_of(context);

	seep_counts_add(sum, &more);
}
