/* SPDX-License-Identifier: MIT */
/* What grows, and since when, judged from one series of readings that is made up. */
#include "analysis/growth_series.h"
#include "base/clock.h"
#include "random_below.h"
#include "unit.h"

#define AFTER_NS (60 * SEEP_NS_PER_S)

enum { ROOM = 1 << 20 };

/* One reading a second; what @bytes_at says. */
static struct seep_growth_series play(uint64_t seconds, uint64_t (*bytes_at)(uint64_t second),
				      bool *ret_ever)
{
	struct seep_growth_series series = { 0 };

	*ret_ever = false;
	for (uint64_t t = 0; t < seconds; t++) {
		seep_growth_series_add(&series, AFTER_NS, (1000 + t) * SEEP_NS_PER_S, bytes_at(t),
				       1);
		*ret_ever |= series.growing;
	}
	return series;
}

static uint64_t linear(uint64_t t)
{
	return ROOM + 16 * t;
}

static uint64_t linear_under_noise(uint64_t t)
{
	return 40 * t + random_below(5000);
}

static uint64_t still_under_noise(uint64_t t)
{
	(void)t;
	return ROOM + random_below(ROOM);
}

static uint64_t late(uint64_t t)
{
	return t < 5000 ? ROOM : ROOM + (t - 5000) * 100;
}

static uint64_t after_a_plateau(uint64_t t)
{
	return t < 600 ? t * 10000 : t < 9000 ? 6000000 : 6000000 + (t - 9000) * 100;
}

static uint64_t bursts(uint64_t t)
{
	return t / 240 * 4096;
}

static uint64_t saw(uint64_t t)
{
	return t % 47 * 1000;
}

static uint64_t saw_that_keeps_some(uint64_t t)
{
	return 5000 + t % 50 * 1000 + (t % 100 < 50 ? 0 : 2000);
}

static uint64_t cache(uint64_t t)
{
	return t < 40 ? t * 10000 : 400000;
}

static uint64_t coupons(uint64_t t)
{
	double left = 1.0;

	for (uint64_t i = 0; i < t; i++)
		left *= 0.99;
	return (uint64_t)(1e6 * (1.0 - left));
}

static uint64_t doubling(uint64_t t)
{
	uint64_t room = 64;

	while (room < 64 * t)
		room *= 2;
	return room;
}

static uint64_t doubled_at_first(uint64_t t)
{
	return doubling(t < 40 ? t : 40);
}

TEST(growth_is_told_from_what_comes_and_goes)
{
	static const struct {
		const char *name;
		uint64_t (*bytes_at)(uint64_t second);
		uint64_t seconds;
		bool grows;
		bool never; /* nor at any time before */
	} cases[] = {
		{ "linear", linear, 300, true, false },
		{ "linear_under_noise", linear_under_noise, 1200, true, false },
		{ "still_under_noise", still_under_noise, 20000, false, true },
		{ "late", late, 5100, true, false },
		{ "after_a_plateau", after_a_plateau, 9120, true, false },
		{ "bursts", bursts, 14400, true, false },
		{ "saw", saw, 20000, false, true },
		{ "saw_that_keeps_some", saw_that_keeps_some, 20000, false, true },
		{ "cache", cache, 600, false, true },
		{ "coupons", coupons, 2000, false, false },
		{ "doubling", doubling, 3000, true, false },
		{ "doubled_at_first", doubled_at_first, 1000, false, true },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		bool ever;
		const struct seep_growth_series series = play(cases[i].seconds, cases[i].bytes_at,
							      &ever);

		if (series.growing != cases[i].grows || (cases[i].never && ever))
			fail_msg("%s: growing %d, ever %d", cases[i].name, series.growing, ever);
	}
}

static uint64_t hour(uint64_t t)
{
	return (t < 3600 ? t : 3600) * 10000 + random_below(1000);
}

static uint64_t wave(uint64_t t)
{
	return 100000 + (t % 240 < 120 ? t % 240 : 240 - t % 240) * 10000;
}

static uint64_t drift(uint64_t t)
{
	return t < 60 ? t * 20000 : 1200000 + (t - 60) * 300;
}

static uint64_t sessions(uint64_t t)
{
	return t * 20000;
}

static uint64_t ttl_cache(uint64_t t)
{
	return (t < 240 ? t : 240) * 50000 + random_below(20000);
}

static uint64_t five_minutes(uint64_t t)
{
	return (t < 300 ? t : 300) * 10000;
}

static uint64_t ramp(uint64_t t)
{
	return 500000 + (t < 100 ? 0 : t < 300 ? (t - 100) * 8000 : 1600000) + random_below(5000);
}

static uint64_t batch(uint64_t t)
{
	return t % 600 < 150 ? t % 600 * 20000 : 0;
}

static uint64_t fewer_blocks(uint64_t t)
{
	return t < 60 ? t * 200 : 12000 - (t - 60) / 2;
}

static uint64_t many_blocks(uint64_t t)
{
	return t < 60 ? t * 200 : 12000;
}

static uint64_t more_blocks(uint64_t t)
{
	return t * 200;
}

static uint64_t one_block(uint64_t t)
{
	(void)t;
	return 1;
}

TEST(growth_is_seen_however_rarely_one_looks)
{
	for (uint64_t after_s = 1; after_s < 20; after_s++) {
		struct seep_growth_series series = { 0 };
		uint64_t rests = 0;

		for (uint64_t t = 0; t < 1000; t++) {
			seep_growth_series_add(&series, after_s * SEEP_NS_PER_S,
					       (1000 + t) * SEEP_NS_PER_S, t * 10000, t * 10);
			rests += series.resting;
		}
		assert_true(series.growing);
		assert_int_equal(rests, 0);
	}
}

/* As it was read of a program: all steps until then are made. */
struct step {
	uint64_t at;
	uint64_t bytes;
};

static uint64_t after_steps(const struct step *steps, uint64_t t)
{
	uint64_t bytes = 0;

	for (; steps->bytes && steps->at <= t; steps++)
		bytes = steps->bytes;
	return bytes;
}

/* Of values that expire after 90 s. */
static uint64_t map_of_a_deque(uint64_t t)
{
	static const struct step steps[] = { { 6, 144 },   { 13, 304 },	  { 28, 624 },
					     { 57, 1264 }, { 114, 2544 }, { 0 } };

	return after_steps(steps, t);
}

/* On a busy machine; later it doubles as it did. */
static uint64_t uneven_doubling(uint64_t t)
{
	static const struct step steps[] = { { 3, 1 << 15 },
					     { 6, 1 << 16 },
					     { 9, 1 << 17 },
					     { 15, 1 << 18 },
					     { 33, 1 << 19 },
					     { 66, 1 << 20 },
					     { 120, 1 << 21 },
					     { 264, 1 << 22 },
					     { 528, 1 << 23 },
					     { 1056, 1 << 24 },
					     { 0 } };

	return after_steps(steps, t);
}

/* How long it is said to grow is right to 2 T; a verdict does not come and go. */
TEST(a_verdict_ends_when_growth_does)
{
	static const struct {
		const char *name;
		uint64_t (*bytes_at)(uint64_t second);
		uint64_t (*blocks_at)(uint64_t second);
		uint64_t seconds;
		unsigned verdicts; /* how often it begins to be said */
		uint64_t ended_by; /* 0: it is said in the end */
	} cases[] = {
		{ "an hour of growth", hour, one_block, 9000, 1, 3720 },
		{ "five minutes of growth", five_minutes, more_blocks, 900, 1, 420 },
		{ "a cache whose entries expire", ttl_cache, many_blocks, 1200, 1, 360 },
		{ "a ramp", ramp, one_block, 1500, 1, 420 },
		{ "a batch", batch, one_block, 4000, 1, 150 },
		{ "a wave", wave, one_block, 4000, 1, 240 },
		{ "a doubling vector", doubling, one_block, 4000, 1, 0 },
		{ "one that doubles unevenly", uneven_doubling, one_block, 1100, 1, 0 },
		{ "the map of a deque", map_of_a_deque, one_block, 900, 1, 270 },
		{ "a full cache of larger and larger entries", drift, many_blocks, 1500, 1, 120 },
		{ "the same, evicting", drift, fewer_blocks, 1500, 1, 120 },
		{ "sessions", sessions, more_blocks, 1500, 1, 0 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct seep_growth_series series = { 0 };
		uint64_t last = 0, begins = 0;
		bool is_said = false;

		for (uint64_t t = 0; t < cases[i].seconds; t++) {
			const bool was_said = is_said;

			seep_growth_series_add(&series, AFTER_NS, (1000 + t) * SEEP_NS_PER_S,
					       cases[i].bytes_at(t), cases[i].blocks_at(t));
			is_said = series.growing && !series.resting;
			begins += is_said && !was_said;
			last = is_said ? t : last;
		}
		if (begins != cases[i].verdicts || is_said != !cases[i].ended_by ||
		    (cases[i].ended_by && last > cases[i].ended_by))
			fail_msg("%s: said %lu times, to %lu s", cases[i].name,
				 (unsigned long)begins, (unsigned long)last);
	}
}

/* 200 blocks of 100 bytes each 40 s, 1,000 bytes each 25 s, as they were read of programs. */
static uint64_t each_40_s(uint64_t t)
{
	static const struct step steps[] = { { 39, 20000 },   { 79, 40000 },   { 119, 60000 },
					     { 159, 80000 },  { 199, 100000 }, { 240, 120000 },
					     { 279, 140000 }, { 319, 160000 }, { 0 } };

	return after_steps(steps, t);
}

static uint64_t each_25_s(uint64_t t)
{
	static const struct step steps[] = { { 10, 1000 },  { 35, 2000 },  { 60, 3000 },
					     { 85, 4000 },  { 110, 5000 }, { 135, 6000 },
					     { 160, 7000 }, { 185, 8000 }, { 0 } };

	return after_steps(steps, t);
}

/* A pool that has nearly all that its users ever need at once. */
static uint64_t pool(uint64_t t)
{
	static const struct step steps[] = { { 0, 15286272 },
					     { 9, 15400960 },
					     { 51, 15417344 },
					     { 54, 15499264 },
					     { 87, 15532032 },
					     { 123, 15548416 },
					     { 135, 15646720 },
					     { 141, 15712256 },
					     { 201, 15728640 },
					     { 213, 15958016 },
					     { 0 } };

	return after_steps(steps, t);
}

/* A block of 100 bytes in 5 to 25 seconds: none in half of the segments, however one looks. */
static uint64_t in_5_to_25_s(uint64_t t)
{
	static const uint64_t at[] = { 1, 6, 16, 21, 31, 36 };
	uint64_t blocks = t / 60 * 6;

	for (size_t i = 0; i < sizeof(at) / sizeof(at[0]); i++)
		blocks += t % 60 >= at[i];
	return 4000 + 100 * blocks;
}

TEST(growth_in_steps_is_found_early)
{
	static const struct {
		uint64_t (*bytes_at)(uint64_t second);
		uint64_t from, to; /* it is found in; 0: never */
	} cases[] = { { each_40_s, 200, 260 },
		      { each_25_s, 110, 150 },
		      { doubling, 85, 100 },
		      { in_5_to_25_s, 95, 125 },
		      { pool, 0, 0 } };

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint64_t found = 0;
		bool ever;

		for (uint64_t t = 1; t < 320 && !found; t++) {
			(void)play(t, cases[i].bytes_at, &ever);
			found = ever ? t : 0;
		}
		print_message("found after %lu s\n", (unsigned long)found);
		assert_in_range(found, cases[i].from, cases[i].to);
	}
}

static uint64_t slower(uint64_t t)
{
	return t < 600 ? t * 1000 : 600000 + (t - 600) * 100;
}

TEST(how_fast_it_grows_lately_is_known)
{
	bool ever;
	struct seep_growth_series series = play(590, slower, &ever);

	assert_in_range(seep_growth_series_lately(&series), 29000, 31000); /* in 30 s */
	series = play(720, slower, &ever);
	assert_in_range(seep_growth_series_lately(&series), 2900, 3100);
	series = play(900, five_minutes, &ever);
	assert_int_equal(seep_growth_series_lately(&series), 0);
}

TEST(a_short_time_is_no_evidence)
{
	bool ever;

	(void)play(60, linear, &ever);
	assert_false(ever);
	(void)play(75, linear, &ever);
	assert_true(ever);
}

static uint64_t freed_at_the_end(uint64_t t)
{
	return t < 300 ? t * 1000 : 0;
}

static uint64_t freed_and_built_again(uint64_t t)
{
	return t % 300 * 1000;
}

TEST(what_was_given_back_is_remembered_until_it_comes_again)
{
	bool ever;
	struct seep_growth_series series = play(310, freed_at_the_end, &ever);

	assert_false(series.growing);
	assert_true(series.returned);
	assert_in_range(series.grown_bytes, 260000, 299000);
	series = play(590, freed_and_built_again, &ever);
	assert_false(series.growing);
	assert_false(series.returned);
}

TEST(readings_far_apart_do_no_harm)
{
	struct seep_growth_series series = { 0 };
	const uint64_t times[] = { 1, 2, 3, UINT64_MAX / 2, UINT64_MAX / 2 + 1, UINT64_MAX - 1 };

	for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++)
		seep_growth_series_add(&series, 1, times[i], i * ROOM, i);
	seep_growth_series_add(&series, 1, UINT64_MAX, UINT64_MAX, UINT64_MAX);
	/* Nor does a time that goes back. */
	seep_growth_series_add(&series, 1, 5, 0, 0);
	assert_int_equal(series.last_ns, UINT64_MAX);
	series = (struct seep_growth_series){ 0 };
	for (uint64_t t = 0; t < 300; t++) {
		seep_growth_series_add(&series, AFTER_NS, (1000 + t) * SEEP_NS_PER_S, linear(t), 1);
		seep_growth_series_add(&series, AFTER_NS, t * SEEP_NS_PER_S, 0, 0);
	}
	assert_true(series.growing);
}

TEST(a_rise_counts_where_it_is_larger_than_the_error)
{
	static const struct {
		uint64_t error;
		uint64_t from_s, to_s; /* it is GROWING at first in these */
	} cases[] = { { 0, 61, 90 }, { 16 * 50, 61, 90 }, { 16 * 200, 200, 260 } };

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct seep_growth_series series = { .error = cases[i].error };
		uint64_t t = 0;

		for (; t < 600 && !series.growing; t++)
			seep_growth_series_add(&series, AFTER_NS, (1000 + t) * SEEP_NS_PER_S,
					       linear(t), 1);
		assert_in_range(t, cases[i].from_s, cases[i].to_s);
	}
}
