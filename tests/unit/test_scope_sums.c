/* SPDX-License-Identifier: MIT */
/* Sums of scopes and of tags, and what of them is old. */
#include <stdlib.h>

#include "analysis/scope_sums.h"
#include "base/clock.h"
#include "unit.h"

#define AT(seconds) ((seconds)*SEEP_NS_PER_S)

/* a, a/b, b, b/a: a tag in two places, and twice in no path. */
static struct seep_profile_scope scopes[] = {
	{ .tag = (char *)"a", .entries = 3, .exits = 2, .wall_ns = 100, .histogram[6] = 2 },
	{ .tag = (char *)"b", .parent = 1, .entries = 5 },
	{ .tag = (char *)"b", .entries = 7 },
	{ .tag = (char *)"a", .parent = 3, .entries = 11 },
};
static struct seep_profile_epoch epochs[][2] = {
	{ { .epoch = 0, .bytes = 10 }, { .epoch = 2, .bytes = 1 } },
	{ { .epoch = 1, .bytes = 20 }, { .epoch = 3, .bytes = 2 } },
};
static struct seep_profile_context contexts[] = {
	{ .live_bytes = 1000 },
	{ .scope = 1, .allocs = 1, .live_bytes = 11, .epochs = epochs[0], .epoch_count = 2 },
	{ .scope = 2, .allocs = 1, .live_bytes = 22, .epochs = epochs[1], .epoch_count = 2 },
	{ .scope = 4, .allocs = 1, .live_bytes = 300 },
	{ .scope = 4, .allocs = 1, .live_bytes = 5000, .hidden = true },
};
static struct seep_profile_mark marks[] = {
	{ .epoch = 1, .at_ns = AT(10) },
	{ .epoch = 2, .at_ns = AT(20) },
	{ .epoch = 3, .at_ns = AT(30) },
};
static struct seep_profile profile = {
	.scopes = scopes,
	.scope_count = 4,
	.contexts = contexts,
	.context_count = 5,
	.marks = marks,
	.mark_count = 3,
};

TEST(what_is_under_two_tags_counts_once_for_each)
{
	SEEP_RELEASED(seep_scopes_done) struct seep_scopes sums;

	seep_scopes_init(&sums, &profile, 2, false);
	assert_int_equal(sums.scopes[0].own.live_bytes, 11);
	assert_int_equal(sums.scopes[0].all.live_bytes, 33);
	assert_int_equal(sums.scopes[0].old_bytes, 30);
	assert_int_equal(sums.scopes[2].own.live_bytes, 0);
	assert_int_equal(sums.scopes[2].all.live_bytes, 300);
	assert_int_equal(sums.tag_count, 2);
	assert_string_equal(sums.tags[0].tag, "a");
	assert_int_equal(sums.tags[0].sums.all.live_bytes, 333);
	assert_int_equal(sums.tags[0].sums.old_bytes, 30);
	assert_int_equal(sums.tags[0].figures.entries, 14);
	assert_int_equal(sums.tags[1].first, 1);
	assert_int_equal(sums.tags[1].sums.all.live_bytes, 322);
	assert_int_equal(sums.tags[1].sums.own.live_bytes, 22);
}

TEST(of_a_part_entries_count_where_something_was_allocated)
{
	SEEP_RELEASED(seep_scopes_done) struct seep_scopes sums;
	struct seep_profile part = profile;

	part.context_count = 3;
	seep_scopes_init(&sums, &part, 0, true);
	assert_int_equal(sums.tags[0].figures.entries, 3);
	assert_int_equal(sums.tags[1].figures.entries, 5);
}

TEST(old_is_what_was_there_at_a_mark_ten_seconds_ago)
{
	static const struct {
		uint64_t now_ns, age_ns;
		uint32_t epoch;
	} cases[] = {
		{ 0, 0, 0 },	       { AT(20) - 1, 0, 0 },   { AT(20), AT(10), 1 },
		{ AT(39), AT(19), 2 }, { AT(100), AT(70), 3 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint64_t age_ns;

		assert_int_equal(seep_scopes_old_epoch(&profile, cases[i].now_ns, &age_ns),
				 cases[i].epoch);
		assert_int_equal(age_ns, cases[i].age_ns);
	}
}

TEST(a_path_has_the_tags_from_outside_in)
{
	SEEP_FREED char *path = seep_scope_path(&profile, 4);

	assert_string_equal(path, "b/a");
	assert_int_equal(seep_scope_mean_ns(&scopes[0]), 50);
	assert_int_equal(seep_scope_mean_ns(&scopes[1]), 0);
}
