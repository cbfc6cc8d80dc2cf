/* SPDX-License-Identifier: MIT */
#include "recorder/timeline.h"

#include "base/xalloc.h"

#include <stdlib.h>

void seep_timeline_init(struct seep_timeline *timeline)
{
	*timeline = (struct seep_timeline){ .interval_ns = SEEP_TIMELINE_FIRST_INTERVAL_NS };
}

void seep_timeline_done(struct seep_timeline *timeline)
{
	free(timeline->samples);
	*timeline = (struct seep_timeline){ 0 };
}

static void drop_every_second(struct seep_timeline *timeline)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < timeline->count; i += 2)
		timeline->samples[kept++] = timeline->samples[i];
	timeline->count = kept;
	timeline->interval_ns *= 2;
}

void seep_timeline_add(struct seep_timeline *timeline, const struct seep_profile_sample *sample)
{
	if (timeline->count == SEEP_TIMELINE_MAX_SAMPLES)
		drop_every_second(timeline);
	*SEEP_APPEND(timeline->samples, timeline->count) = *sample;
}
