/* SPDX-License-Identifier: MIT */
/*
 * A series of samples that never grows past a bound: when it is full every second sample goes and
 * the interval doubles, so that a run of any length has between 500 and 1,000 of them.
 */
#ifndef SEEP_RECORDER_TIMELINE_H
#define SEEP_RECORDER_TIMELINE_H

#include "profile/profile.h"

#include <stdint.h>

enum { SEEP_TIMELINE_MAX_SAMPLES = 1000 };

#define SEEP_TIMELINE_FIRST_INTERVAL_NS 25000000ull

/* Start with seep_timeline_init(). */
struct seep_timeline {
	struct seep_profile_sample *samples;
	uint32_t count;
	uint64_t interval_ns; /* wait this long between two samples */
};

void seep_timeline_init(struct seep_timeline *timeline);
void seep_timeline_done(struct seep_timeline *timeline);

/* Samples come in the order of their time. The first and the newest are always kept. */
void seep_timeline_add(struct seep_timeline *timeline, const struct seep_profile_sample *sample);

#endif
