/* SPDX-License-Identifier: MIT */
/* A series that stays bounded. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "recorder/timeline.h"

static void a_long_run_keeps_first_and_newest_within_the_bound(void **state)
{
	struct seep_timeline timeline;
	uint64_t now = 5;

	(void)state;
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

static void an_unused_one_is_released(void **state)
{
	struct seep_timeline timeline;

	(void)state;
	seep_timeline_init(&timeline);
	assert_int_equal(timeline.count, 0);
	seep_timeline_done(&timeline);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_long_run_keeps_first_and_newest_within_the_bound),
		cmocka_unit_test(an_unused_one_is_released),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
