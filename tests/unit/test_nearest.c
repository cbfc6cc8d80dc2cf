/* SPDX-License-Identifier: MIT */
/* "Did you mean": distances, and when nothing is near enough. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "core/nearest.h"

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

static size_t distance(const char *typed, const char *word)
{
	struct core_nearest nearest;

	core_nearest_init(&nearest, typed);
	core_nearest_offer(&nearest, word);
	return nearest.distance;
}

static void distance_counts_edits_and_swaps(void **state)
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

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		assert_int_equal(distance(cases[i].a, cases[i].b), cases[i].distance);
		assert_int_equal(distance(cases[i].b, cases[i].a), cases[i].distance);
	}
}

static void endless_words_are_near_nothing(void **state)
{
	char word[1000];

	(void)state;
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

static void nearest_word_is_found_when_near_enough(void **state)
{
	(void)state;
	assert_string_equal(nearest_to("reprot"), "report");
	assert_string_equal(nearest_to("rn"), "run");
	assert_string_equal(nearest_to("qurey"), "query");
	assert_null(nearest_to("attach"));
	assert_null(nearest_to("x"));
}

static void without_offers_there_is_no_word(void **state)
{
	struct core_nearest nearest;

	(void)state;
	core_nearest_init(&nearest, "x");
	assert_null(core_nearest_word(&nearest));
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(distance_counts_edits_and_swaps),
		cmocka_unit_test(endless_words_are_near_nothing),
		cmocka_unit_test(nearest_word_is_found_when_near_enough),
		cmocka_unit_test(without_offers_there_is_no_word),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
