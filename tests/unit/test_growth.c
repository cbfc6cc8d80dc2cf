/* SPDX-License-Identifier: MIT */
/* What grows, and what is held too long, judged from readings of a process that are made up. */
#include <stdlib.h>
#include <string.h>

#include "unit.h"

#include "analysis/growth.h"
#include "analysis/growth_text.h"
#include "base/clock.h"
#include "random_below.h"

#define AFTER_NS (60 * SEEP_NS_PER_S)

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
