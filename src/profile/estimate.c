/* SPDX-License-Identifier: MIT */
#include "profile/estimate.h"

#include "profile/figures.h"

#include <math.h>

const int seep_figure_blocks[SEEP_FIGURE_COUNT] = {
	[SEEP_FIGURE_allocs] = SEEP_FIGURE_allocs,
	[SEEP_FIGURE_alloc_bytes] = SEEP_FIGURE_allocs,
	[SEEP_FIGURE_frees] = SEEP_FIGURE_frees,
	[SEEP_FIGURE_freed_bytes] = SEEP_FIGURE_frees,
	[SEEP_FIGURE_live_blocks] = SEEP_FIGURE_live_blocks,
	[SEEP_FIGURE_live_bytes] = SEEP_FIGURE_live_blocks,
	[SEEP_FIGURE_peak_blocks] = SEEP_FIGURE_peak_blocks,
	[SEEP_FIGURE_peak_bytes] = SEEP_FIGURE_peak_blocks,
	[SEEP_FIGURE_temporary] = SEEP_FIGURE_temporary,
};

/* 95 % of a normal distribution. */
static const double z = 1.959964;
/* In the place of none at all: then few are as good as many. */
static const double pseudo = 2;

uint64_t seep_error_ceil(double error)
{
	return error < 0x1p63 ? (uint64_t)ceil(error) : INT64_MAX;
}

uint64_t seep_taken_error(const struct seep_taken *taken, double unit)
{
	if (taken->count > 0)
		unit = taken->variance / taken->count;
	return seep_error_ceil(z * sqrt(unit * (taken->count + pseudo)));
}

/* Wilson's interval, corrected for continuity; of its two ends the one that is further away. */
double seep_share_error(double share, double count)
{
	const double middle = (share + z * z / (2 * count)) / (1 + z * z / count);
	const double half = z / (1 + z * z / count) *
			    sqrt(share * (1 - share) / count + z * z / (4 * count * count));

	return fmin(1, fabs(middle - share) + half + 1 / (2 * count));
}

uint64_t seep_error_join(uint64_t a, uint64_t b)
{
	return a == 0 || b == 0 ? a | b : seep_error_ceil(hypot((double)a, (double)b));
}

void seep_errors_join(uint64_t *all, const uint64_t *more)
{
	for (int i = 0; i < SEEP_FIGURE_COUNT; i++)
		all[i] = seep_error_join(all[i], more[i]);
}
