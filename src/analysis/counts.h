/* SPDX-License-Identifier: MIT */
/*
 * The figures of one context, and sums of them: what groups, trees and flat tables add up. They
 * may be differences: below zero where something shrank. Sums are exact as long as they fit into
 * 63 bits, and stop at the largest that does.
 */
#ifndef SEEP_ANALYSIS_COUNTS_H
#define SEEP_ANALYSIS_COUNTS_H

#include "base/units.h"
#include "profile/profile.h"

struct seep_counts {
	SEEP_FIGURE_MEMBERS(int64_t, SEEP_FIGURE_OF_SUM);
	double squares[SEEP_FIGURE_COUNT]; /* of errors */
};

/* What a report is ordered by. */
enum seep_measure {
	SEEP_BY_LIVE = 0,  /* bytes alive */
	SEEP_BY_PEAK,	   /* bytes alive at the process's peak */
	SEEP_BY_ALLOCS,	   /* number of allocations */
	SEEP_BY_TEMPORARY, /* number of temporary allocations */
	SEEP_MEASURE_COUNT,
};

/* What people type where measures are typed, and is none. */
enum { SEEP_BY_LOST = SEEP_MEASURE_COUNT, SEEP_BY_GROWTH, SEEP_BY_COUNT };

/* What people type for each; then NULL. */
extern const char *const seep_measure_names[SEEP_BY_COUNT + 1];

/* Is this figure known of contexts, an index into seep_figure_names? */
bool seep_figure_is_known(const struct seep_profile *profile, int figure);

/* Is it known what @measure counts? Not all of it is, of what other tools made. */
bool seep_measure_is_known(const struct seep_profile *profile, enum seep_measure measure);

/* Whether its figures are bytes (else: a number of allocations). */
bool seep_measure_is_bytes(enum seep_measure measure);

/* "1.2 MB ±30.1 KB": @text of @value, which is no more than @error off; 0: it is exact. */
struct seep_estimate_text {
	char text[72];
};
struct seep_estimate_text seep_estimate_text(struct seep_unit_text value, uint64_t error,
					     struct seep_unit_text (*text)(uint64_t));

/* The same of a sum in @measure. */
struct seep_estimate_text seep_counts_text(const struct seep_counts *counts,
					   enum seep_measure measure);

/* The same of one figure, an index into seep_figure_names. */
struct seep_estimate_text seep_figure_text(const struct seep_counts *counts, int figure);

/* "1,234 ±12 blocks" */
struct seep_things_text seep_counted_text(const struct seep_counts *counts, int figure,
					  const char *thing);
int seep_measure_blocks(enum seep_measure measure);

/* The same of a value in @measure, with the square of its error. */
struct seep_estimate_text seep_value_text(int64_t value, double square, enum seep_measure measure);

/* "1.2 MB" or "12.3 k", with a minus sign where it is below zero. */
struct seep_unit_text seep_measure_text(int64_t value, enum seep_measure measure);

int64_t seep_counts_value(const struct seep_counts *counts, enum seep_measure measure);

/* How far that may be off; 0: not at all. */
uint64_t seep_counts_error(const struct seep_counts *counts, enum seep_measure measure);
uint64_t seep_counts_figure_error(const struct seep_counts *counts, int figure);
/* Of a part of @whole, which is @whole_error off at most: it is not below 0, nor above all of that. */
uint64_t seep_counts_part_error(const struct seep_counts *part, const struct seep_counts *whole,
				uint64_t whole_error, int figure);

/* The blocks that belong to the value: live, at the peak, or the allocations themselves. */
int64_t seep_counts_blocks(const struct seep_counts *counts, enum seep_measure measure);

/* One figure. */
static inline void seep_counts_sum(int64_t *sum, int64_t more)
{
	if (__builtin_add_overflow(*sum, more, sum))
		*sum = more > 0 ? INT64_MAX : INT64_MIN;
}

void seep_counts_add(struct seep_counts *sum, const struct seep_counts *more);
/* Of live blocks and bytes, as leaks and verdicts have them. */
void seep_counts_set_errors(struct seep_counts *counts, uint64_t blocks_error,
			    uint64_t bytes_error);
struct seep_counts seep_counts_of(const struct seep_profile_context *context);
int64_t seep_context_value(const struct seep_profile_context *context, enum seep_measure measure);
/* Of the error of that, the square, as sums have them. */
double seep_context_square(const struct seep_profile_context *context, enum seep_measure measure);
void seep_counts_add_context(struct seep_counts *sum, const struct seep_profile_context *context);

#endif
