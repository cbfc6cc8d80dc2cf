/* SPDX-License-Identifier: MIT */
/* A series that stays bounded. */
#include "recorder/timeline.h"
#include "unit.h"

TEST(a_long_run_keeps_first_and_newest_within_the_bound)
{
	struct seep_timeline timeline;
	uint64_t now = 5;

	seep_timeline_init(&timeline);
	for (int i = 0; i < 10000; i++) {
		const struct seep_profile_sample sample = { .at_ns = now, .live_bytes = now * 2 };

		seep_timeline_add(&timeline, &sample);
		assert_in_range(timeline.count, 1, SEEP_TIMELINE_MAX_SAMPLES);
		assert_int_equal(timeline.samples[0].at_ns, 5);
		assert_int_equal(timeline.samples[timeline.count - 1].at_ns, now);
		now += timeline.interval_ns;
	}
	assert_true(timeline.count >= SEEP_TIMELINE_MAX_SAMPLES / 2);
	for (uint32_t i = 1; i < timeline.count; i++) {
		assert_true(timeline.samples[i].at_ns > timeline.samples[i - 1].at_ns);
	}
	seep_timeline_done(&timeline);
}

TEST(an_unused_one_is_released)
{
	struct seep_timeline timeline;

	seep_timeline_init(&timeline);
	assert_int_equal(timeline.count, 0);
	seep_timeline_done(&timeline);
}
