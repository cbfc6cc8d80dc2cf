/* SPDX-License-Identifier: MIT */
/* What grows, and what is held too long, judged from readings that are made up. */
#include <stdlib.h>
#include <string.h>

#include "unit.h"

#include "analysis/growth.h"
#include "analysis/growth_series.h"
#include "analysis/growth_text.h"
#include "base/clock.h"

#define AFTER_NS (60 * SEEP_NS_PER_S)

enum { ROOM = 1 << 20 };

static uint64_t random_state = 88172645463325252ull;

static uint64_t random_below(uint64_t end)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state % end;
}

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

/* A profile of one context, with a mark at each of the ages 1, 2, 4 ... s, as a recorder sets. */
static struct seep_profile *profile;
static struct seep_profile_context *context;
static struct seep_profile_epoch *epochs;
static uint64_t second;
static struct seep_growth *growth;
static struct seep_profile_growth one; /* what seep_growth_of() said last */

static int set_up(void **state)
{
	(void)state;
	profile = seep_profile_new();
	profile->process.start_ns = SEEP_NS_PER_S;
	context = seep_profile_add(profile, SEEP_ARRAY_CONTEXTS);
	context->id = 7;
	((uint32_t *)seep_profile_add_items(profile, SEEP_ARRAY_PLACES, 7))[6] = 1;
	context->first_ns = SEEP_NS_PER_S;
	epochs = seep_profile_calloc(profile, 64, sizeof(*epochs));
	context->epochs = epochs;
	second = 0;
	growth = seep_growth_new(AFTER_NS);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	seep_growth_free(growth);
	seep_profile_free(profile);
	return 0;
}

#define GROWTH_TEST(name) TEST_WITH(set_up, name, tear_down)

static uint64_t now(void)
{
	return (second + 1) * SEEP_NS_PER_S;
}

/* One second later; its epoch is a new one at each doubling of the age. */
static void tick(void)
{
	second++;
	if ((second & (second - 1)) == 0) {
		struct seep_profile_mark *mark = seep_profile_add(profile, SEEP_ARRAY_MARKS);

		mark->epoch = profile->mark_count;
		mark->at_ns = now();
	}
}

static void allocate(uint64_t blocks, uint64_t each)
{
	const uint32_t epoch = profile->mark_count;

	if (context->epoch_count == 0 || epochs[context->epoch_count - 1].epoch != epoch)
		epochs[context->epoch_count++] = (struct seep_profile_epoch){ .epoch = epoch };
	epochs[context->epoch_count - 1].blocks += blocks;
	epochs[context->epoch_count - 1].bytes += blocks * each;
	context->allocs += blocks;
	context->alloc_bytes += blocks * each;
	context->live_blocks += blocks;
	context->live_bytes += blocks * each;
}

static void release_from(uint32_t place, uint64_t blocks, uint64_t each)
{
	epochs[place].blocks -= blocks;
	epochs[place].bytes -= blocks * each;
	context->frees += blocks;
	context->live_blocks -= blocks;
	context->live_bytes -= blocks * each;
}

static void observe(void)
{
	seep_growth_observe(growth, profile, now());
}

/* Each second ten blocks that live for less, and a reading. */
static void churn_until(uint64_t end)
{
	while (second < end) {
		tick();
		allocate(10, 1000);
		release_from(context->epoch_count - 1, 10, 1000);
		observe();
	}
}

/* What the recorder says, the viewer says, whatever it has seen itself; and not for longer. */
GROWTH_TEST(a_late_viewer_says_what_the_recorder_says)
{
	static struct ledger_control control;
	struct seep_growth *viewer = seep_growth_new(0);
	struct seep_growth_list list;
	struct seep_profile_growth heard;

	while (second < 1000) {
		tick();
		allocate(10, 1000);
		release_from(context->epoch_count - 1, 4, 1000);
		observe();
	}
	seep_growth_observe(viewer, profile, now());
	assert_false(seep_growth_of(viewer, 7, &heard));
	list = seep_growth_list(growth);
	seep_ledger_growth_write(&control, &list, now());
	seep_growth_list_done(&list);
	list = seep_ledger_growth_read(&control, now());
	seep_growth_hear(viewer, profile, &list);
	assert_true(seep_growth_of(growth, 7, &one) && seep_growth_of(viewer, 7, &heard));
	assert_int_equal(heard.verdict, SEEP_GROWTH_GROWING);
	assert_memory_equal(&heard, &one, sizeof(one));
	list = seep_growth_list(viewer);
	assert_true(list.news && list.sum.contexts == 1 && list.sum.bytes == one.bytes);
	seep_growth_tell(viewer, &list);
	seep_growth_list_done(&list);
	list = seep_growth_list(viewer);
	assert_false(list.news);
	seep_growth_list_done(&list);
	/* One that is written just now, or none. */
	control.growth_at_ns = 0;
	list = seep_ledger_growth_read(&control, now());
	seep_growth_hear(viewer, profile, &list);
	assert_false(seep_growth_of(viewer, 7, &heard));
	seep_growth_free(viewer);
}

/* Nothing that a process writes there leads anywhere. */
GROWTH_TEST(what_a_hostile_process_says_of_growth_is_bounded)
{
	static struct ledger_control control;
	struct seep_growth_list list;

	tick();
	allocate(1, 1000);
	observe();
	memset(&control, 0xff, sizeof(control));
	control.growth[0].context = 7;
	control.growth[0].verdict = SEEP_GROWTH_GROWING;
	control.growth[1].context = 8;
	control.growth[2].context = 7;
	for (int i = 0; i < 3; i++) {
		list = seep_ledger_growth_read(&control, now());
		assert_int_equal(list.count, LEDGER_GROWTH_MAX);
		seep_growth_hear(growth, profile, &list);
		assert_true(seep_growth_of(growth, 7, &one));
		assert_int_equal(one.bytes, 1000);
		assert_int_equal(one.until_ns, now());
		assert_true(one.since_ns <= one.until_ns && one.quiet_ns <= now());
	}
}

GROWTH_TEST(stale_blocks_are_counted_and_told_when_freed)
{
	struct seep_growth_list list;

	tick();
	tick();
	allocate(5, 1000); /* these five stay */
	churn_until(1200);
	assert_true(seep_growth_of(growth, 7, &one));
	assert_int_equal(one.verdict, SEEP_GROWTH_STALE);
	assert_int_equal(one.blocks, 5);
	assert_int_equal(one.bytes, 5000);
	list = seep_growth_list(growth);
	seep_profile_add_unseen(profile, SEEP_UNSEEN_DAMAGED, "it was");
	seep_growth_fill(&list, profile);
	assert_null(context->growth);
	profile->unseen_count = 0;
	context->id = 9; /* that reading met its equal in the ledger first */
	seep_growth_fill(&list, profile);
	context->id = 7;
	assert_string_equal(
		context->growth->evidence,
		"5 blocks (4.9 KB) older than 19 min 56 s, 11,980 of 11,985 blocks freed");
	seep_growth_list_done(&list);

	/* Three of them are freed after all: two are left, and stale only at twice that age. */
	release_from(0, 3, 1000);
	churn_until(1210);
	assert_true(seep_growth_of(growth, 7, &one));
	assert_int_equal(one.verdict, SEEP_GROWTH_NONE);
	assert_int_equal(one.freed_late, 3);
	churn_until(2500);
	assert_true(seep_growth_of(growth, 7, &one));
	assert_int_equal(one.verdict, SEEP_GROWTH_STALE);
	assert_int_equal(one.blocks, 2);
	assert_int_equal(one.freed_late, 3);
	/* Of a ledger that was damaged nothing is concluded any more. */
	tick();
	seep_profile_add_unseen(profile, SEEP_UNSEEN_DAMAGED, "it was");
	observe();
	assert_false(seep_growth_of(growth, 7, &one));
	list = seep_growth_list(growth);
	assert_int_equal(list.count, 0);
	seep_growth_list_done(&list);
}

TEST(a_rate_is_in_the_unit_that_suits)
{
	assert_string_equal(seep_growth_rate_text(57600).text, "+56.3 KB/h");
	assert_string_equal(seep_growth_rate_text(60ull * 1258291).text, "+1.2 MB/min");
	assert_string_equal(seep_growth_rate_text(3600ull << 20).text, "+1.0 MB/s");
	assert_string_equal(seep_growth_rate_text(3600ull << 24).text, "+16.0 MB/s");
	assert_int_equal(seep_growth_rate(1024, 60 * SEEP_NS_PER_S), 1024 * 60);
	assert_int_equal(seep_growth_rate(UINT64_MAX, 1), INT64_MAX);
	assert_int_equal(seep_growth_rate(1, 0), 0);
}

TEST(the_worst_comes_first)
{
	struct seep_profile_growth of[] = {
		{ .verdict = SEEP_GROWTH_GROWING, .until_ns = 100, .bytes = 1000 },
		{ .verdict = SEEP_GROWTH_GROWING, .until_ns = 1000, .bytes = 9000 },
		{ .verdict = SEEP_GROWTH_STALE, .bytes = UINT64_MAX },
		{ .verdict = SEEP_GROWTH_STALE, .bytes = 1000 },
		{ .verdict = SEEP_GROWTH_GROWING,
		  .until_ns = 1,
		  .bytes = UINT64_MAX,
		  .returned = true },
	};

	for (size_t i = 1; i < sizeof(of) / sizeof(of[0]); i++)
		assert_true(seep_growth_weight(&of[i - 1]) > seep_growth_weight(&of[i]));
	of[0].bytes = UINT64_MAX;
	assert_true(seep_growth_weight(&of[0]) > seep_growth_weight(&of[1]));
}

/* What a program has in hand while it is stopped is no older than its rest. */
GROWTH_TEST(blocks_of_a_stopped_program_are_not_stale)
{
	churn_until(100);
	allocate(5, 1000);
	while (second < 5000) {
		tick();
		observe();
	}
	assert_false(seep_growth_of(growth, 7, &one));
}

/* One of a thousand blocks a second stays, among others whose number wobbles far more. */
GROWTH_TEST(cohorts_tell_a_leak_that_the_load_hides)
{
	uint64_t in_use = 0;

	while (second < 1000) {
		const uint32_t last = context->epoch_count;

		tick();
		if (in_use && last > 0)
			release_from(last - 1, in_use, 100);
		in_use = 100 + random_below(5000);
		allocate(in_use + 1, 100);
		observe();
	}
	assert_true(seep_growth_of(growth, 7, &one));
	assert_int_equal(one.verdict, SEEP_GROWTH_GROWING);
	/* 100 bytes a second. */
	assert_in_range(seep_growth_bytes_per_hour(&one), 3600 * 90, 3600 * 130);
}

enum { CHURN_SECONDS = 1000, CHURN_EPOCHS = 12 };

/* Seconds to live: as many of each age are freed, or the fewer the older they are. */
static uint64_t short_life(void)
{
	uint64_t life = 1;

	while (random_below(3) > 0)
		life++;
	return life;
}

static uint64_t any_life(void)
{
	const uint64_t a = 12000 / (1 + random_below(2000)), b = 12000 / (1 + random_below(2000));

	return 1 + (a < b ? a : b);
}

/* What grows is said from which second on; 0: it is not. */
static uint64_t churn_and_lose(uint64_t each_second, uint64_t (*life)(void), uint64_t lose_every)
{
	static uint32_t due[CHURN_SECONDS][CHURN_EPOCHS];
	uint64_t found = 0;

	memset(due, 0, sizeof(due));
	while (second < CHURN_SECONDS - 1 && !found) {
		tick();
		allocate(each_second, 100);
		for (uint64_t i = 0; i < each_second; i++) {
			const uint64_t end = second + life();

			if (lose_every &&
			    (second * each_second + i) % (lose_every * each_second) == 0)
				continue;
			if (end < CHURN_SECONDS)
				due[end][context->epoch_count - 1]++;
		}
		for (uint32_t i = 0; i < context->epoch_count; i++)
			release_from(i, due[second][i], 100);
		observe();
		if (seep_growth_of(growth, 7, &one) && one.verdict == SEEP_GROWTH_GROWING)
			found = second;
	}
	return found;
}

GROWTH_TEST(a_slow_leak_on_the_line_of_the_churn_is_found_in_5_minutes)
{
	static const uint64_t every[] = { 1, 2, 5, 10 };

	for (size_t i = 0; i < sizeof(every) / sizeof(every[0]); i++) {
		uint64_t found;

		(void)tear_down(NULL);
		(void)set_up(NULL);
		found = churn_and_lose(1000, short_life, every[i]);
		print_message("a block in %lu s: found after %lu s\n", (unsigned long)every[i],
			      (unsigned long)found);
		assert_in_range(found, 60, 300);
	}
}

/* Of each cohort some are left for as long as one looks, but ever fewer. */
GROWTH_TEST(blocks_that_live_for_very_different_times_do_not_grow)
{
	assert_int_equal(churn_and_lose(200, any_life, 0), 0);
}

/* As those that a full cache keeps of one caller: 65 blocks, each of which is freed some time. */
GROWTH_TEST(blocks_that_come_and_go_by_chance_hardly_ever_grow)
{
	enum { SERIES = 60, BLOCKS = 65, LIFE_S = 80 };
	uint32_t wrong = 0;

	for (int i = 0; i < SERIES; i++) {
		bool ever = false;

		(void)tear_down(NULL);
		(void)set_up(NULL);
		tick();
		allocate(BLOCKS, 258);
		while (second < 900) {
			tick();
			for (uint32_t place = 0; place < context->epoch_count; place++) {
				uint64_t freed = 0;

				for (uint64_t block = 0; block < epochs[place].blocks; block++)
					freed += random_below(LIFE_S) == 0;
				release_from(place, freed, 258);
			}
			for (int block = 0; block < BLOCKS; block++)
				if (random_below(LIFE_S) == 0)
					allocate(1, 258);
			observe();
			ever |= second > 300 && seep_growth_of(growth, 7, &one) &&
				one.verdict == SEEP_GROWTH_GROWING;
		}
		wrong += ever;
	}
	print_message("%u of %d series said to grow at some time\n", wrong, SERIES);
	assert_true(wrong <= 3);
}

/* What one caller allocates takes the place of another's: none grows. */
GROWTH_TEST(a_family_that_keeps_its_size_does_not_grow)
{
	static struct seep_profile_stack_entry entry;
	struct seep_profile_context *other;

	(void)seep_profile_add(profile, SEEP_ARRAY_FRAMES);
	other = seep_profile_add(profile, SEEP_ARRAY_CONTEXTS);
	context = &profile->contexts[0];
	other->id = 8;
	context->stack = other->stack = &entry;
	context->stack_count = other->stack_count = 1;
	other->allocs = other->live_blocks = 5000;
	other->live_bytes = 500000;
	for (int i = 0; i < 300; i++) {
		tick();
		allocate(10, 100);
		other->frees += 10;
		other->live_blocks -= 10;
		other->live_bytes -= 1000;
		observe();
	}
	assert_false(seep_growth_of(growth, 7, &one));
	/* The other one keeps what it has from here on: now it is growth. */
	for (int i = 0; i < 300; i++) {
		tick();
		allocate(10, 100);
		observe();
	}
	assert_true(seep_growth_of(growth, 7, &one));
}
