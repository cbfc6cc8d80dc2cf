/* SPDX-License-Identifier: MIT */
/* "Did you mean": distances, and when nothing is near enough. */
#include <string.h>

#include "core/nearest.h"
#include "unit.h"

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

static size_t distance(const char *typed, const char *word)
{
	struct core_nearest nearest;

	core_nearest_init(&nearest, typed);
	core_nearest_offer(&nearest, word);
	return nearest.distance;
}

TEST(distance_counts_edits_and_swaps)
{
	static const struct {
		const char *a;
		const char *b;
		size_t distance;
	} cases[] = {
		{ "", "", 0 },
		{ "", "abc", 3 },
		{ "abc", "", 3 },
		{ "abc", "abc", 0 },
		{ "abc", "abd", 1 },
		{ "abc", "acb", 1 },
		{ "reprot", "report", 1 },
		{ "kitten", "sitting", 3 },
		{ "ca", "abc", 3 },
	};

	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		assert_int_equal(distance(cases[i].a, cases[i].b), cases[i].distance);
		assert_int_equal(distance(cases[i].b, cases[i].a), cases[i].distance);
	}
}

TEST(endless_words_are_near_nothing)
{
	char word[1000];

	memset(word, 'a', sizeof(word) - 1);
	word[sizeof(word) - 1] = '\0';
	assert_true(distance(word, "run") == (size_t)-1);
}

static const char *nearest_to(const char *typed)
{
	static const char *const words[] = { "run", "report", "ps", "query" };
	struct core_nearest nearest;

	core_nearest_init(&nearest, typed);
	for (size_t i = 0; i < COUNT_OF(words); i++)
		core_nearest_offer(&nearest, words[i]);
	return core_nearest_word(&nearest);
}

TEST(nearest_word_is_found_when_near_enough)
{
	assert_string_equal(nearest_to("reprot"), "report");
	assert_string_equal(nearest_to("rn"), "run");
	assert_string_equal(nearest_to("qurey"), "query");
	assert_null(nearest_to("attach"));
	assert_null(nearest_to("x"));
}

TEST(without_offers_there_is_no_word)
{
	struct core_nearest nearest;

	core_nearest_init(&nearest, "x");
	assert_null(core_nearest_word(&nearest));
}
