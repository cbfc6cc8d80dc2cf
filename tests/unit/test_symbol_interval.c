/* SPDX-License-Identifier: MIT */
/* Nested intervals, flattened. */
#include "symbol/interval.h"
#include "unit.h"

#include <stdlib.h>

static uint64_t seed = 88172645463325252;

static uint32_t below(uint32_t limit)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (uint32_t)(seed % limit);
}

static void build(struct seep_segments *segments, const struct seep_interval *items, size_t count)
{
	struct seep_interval_list list = { 0 };
	size_t i;

	for (i = 0; i < count; i++)
		seep_interval_add(&list, items[i]);
	seep_segments_build(segments, &list);
}

TEST(an_inner_interval_hides_the_outer_one_where_it_is)
{
	static const struct seep_interval items[] = {
		{ .from = 10, .to = 50, .depth = 0, .id = 1 },
		{ .from = 10, .to = 20, .depth = 1, .id = 2 },
		{ .from = 30, .to = 50, .depth = 1, .id = 3 },
		{ .from = 35, .to = 40, .depth = 2, .id = 4 },
		{ .from = 60, .to = 61, .depth = 0, .id = 5 },
		{ .from = 70, .to = 70, .depth = 0, .id = 6 },
	};
	static const struct {
		uint64_t address;
		uint32_t id;
	} expected[] = {
		{ 0, SEEP_INTERVAL_NONE },
		{ 9, SEEP_INTERVAL_NONE },
		{ 10, 2 },
		{ 19, 2 },
		{ 20, 1 },
		{ 30, 3 },
		{ 35, 4 },
		{ 39, 4 },
		{ 40, 3 },
		{ 49, 3 },
		{ 50, SEEP_INTERVAL_NONE },
		{ 60, 5 },
		{ 61, SEEP_INTERVAL_NONE },
		{ 70, SEEP_INTERVAL_NONE },
		{ UINT64_MAX, SEEP_INTERVAL_NONE },
	};
	struct seep_segments segments;
	size_t i;

	build(&segments, items, sizeof(items) / sizeof(items[0]));
	for (i = 0; i < sizeof(expected) / sizeof(expected[0]); i++)
		assert_int_equal(seep_segments_find(&segments, expected[i].address),
				 expected[i].id);
	seep_segments_done(&segments);
}

TEST(nothing_is_found_among_nothing)
{
	struct seep_segments segments;

	build(&segments, NULL, 0);
	assert_int_equal(seep_segments_find(&segments, 5), SEEP_INTERVAL_NONE);
	seep_segments_done(&segments);
}

/* What the header promises, by trying all: the latest start wins, then depth. */
static uint32_t expected_at(const struct seep_interval *items, size_t count, uint64_t address)
{
	const struct seep_interval *best = NULL;
	size_t i;

	for (i = 0; i < count; i++) {
		const struct seep_interval *item = &items[i];

		if (address < item->from || address >= item->to)
			continue;
		if (!best || item->from > best->from ||
		    (item->from == best->from && item->depth > best->depth))
			best = item;
	}
	return best ? best->id : SEEP_INTERVAL_NONE;
}

TEST(any_overlap_answers_as_the_definition_says)
{
	struct seep_interval items[24];
	struct seep_segments segments;
	int rounds;

	for (rounds = 0; rounds < 2000; rounds++) {
		size_t count = 1 + below(24);
		uint64_t address;
		uint32_t i;

		for (i = 0; i < count; i++) {
			items[i].from = below(60);
			items[i].to = items[i].from + below(30);
			items[i].depth = i; /* distinct, so that the answer is one */
			items[i].id = i;
		}
		build(&segments, items, count);
		for (address = 0; address < 100; address++)
			assert_int_equal(seep_segments_find(&segments, address),
					 expected_at(items, count, address));
		for (i = 1; i < segments.count; i++)
			assert_true(segments.items[i - 1].from < segments.items[i].from);
		seep_segments_done(&segments);
	}
}
