/* SPDX-License-Identifier: MIT */
/*
 * How far an estimate may be from the truth: in 95 of 100 cases no further than its error. An error of
 * 0 is none: the figure is exact. Where the formulas are from, docs/internals/tiers.md says.
 */
#ifndef SEEP_PROFILE_ESTIMATE_H
#define SEEP_PROFILE_ESTIMATE_H

#include <stdint.h>

/* By figure: the one that counts the blocks of these bytes, or itself. */
extern const int seep_figure_blocks[];

/*
 * What was taken of something: how many, and the variance of what they stand for. One of nothing is
 * like @unit, the variance that one of them adds.
 */
struct seep_taken {
	double count;
	double variance;
};

uint64_t seep_taken_error(const struct seep_taken *taken, double unit);

/* Of the share of a stack in what @count, taken evenly, were looked at for: at most 1. */
double seep_share_error(double share, double count);

/* Rounded up; at most INT64_MAX. */
uint64_t seep_error_ceil(double error);

/* Of a sum, of two parts that have nothing to do with each other. */
uint64_t seep_error_join(uint64_t a, uint64_t b);

/* The same, by figure, of @all, which becomes that, and @more. */
void seep_errors_join(uint64_t *all, const uint64_t *more);

#endif
