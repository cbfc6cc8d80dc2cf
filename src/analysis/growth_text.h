/* SPDX-License-Identifier: MIT */
/* Growth verdicts in words. */
#ifndef SEEP_ANALYSIS_GROWTH_TEXT_H
#define SEEP_ANALYSIS_GROWTH_TEXT_H

#include "profile/profile.h"

/*
 * What speaks for @growth of @context, in one sentence: "+1.2 MB/min for 14 min, 0 of 31,200 blocks
 * ever freed, oldest 14 min". Release with free().
 */
char *seep_growth_evidence(const struct seep_profile *profile,
			   const struct seep_profile_context *context,
			   const struct seep_profile_growth *growth)
	__attribute__((returns_nonnull));

/* So many bytes in so long a time, in an hour; 0 of no time. */
uint64_t seep_growth_rate(uint64_t bytes, uint64_t length_ns);

/* By how much it grew in an hour of the time that it did. */
uint64_t seep_growth_bytes_per_hour(const struct seep_profile_growth *growth);

/* "+1.2 MB/min", in the unit of time that suits. */
struct seep_rate_text {
	char text[40];
};
struct seep_rate_text seep_growth_rate_text(uint64_t bytes_per_hour);

/* "GROWING" ... Static storage; "unknown" of a number that a newer seep wrote. */
const char *seep_growth_verdict_name(unsigned verdict);

/* "low", "medium", "high". */
const char *seep_growth_confidence_name(unsigned confidence);

#endif
