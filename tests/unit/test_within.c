/* SPDX-License-Identifier: MIT */
/* What functions, and all that they call, allocated: a part of a profile. */
#include <string.h>

#include "analysis/within.h"
#include "base/arena.h"
#include "profile/verdict.h"
#include "sample_leaks.h"
#include "symbol/symbol.h"
#include "unit.h"

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

enum { PATTERNS_MAX = 3, LOADED = (4 << 20) + 400000 + 700000 + 120000 };

static size_t count_of(const char *const *patterns)
{
	size_t count = 0;

	while (count < PATTERNS_MAX && patterns[count])
		count++;
	return count;
}

TEST(patterns_name_functions_files_lines_and_modules)
{
	static const struct {
		const char *within[PATTERNS_MAX], *without[PATTERNS_MAX];
		uint64_t live_bytes;
	} cases[] = {
		{ { "app::load_rows" }, { 0 }, LOADED },
		{ { "app::load_rows(std::istream&, int)" }, { 0 }, LOADED },
		{ { "function:app::load_*" }, { 0 }, LOADED },
		{ { "load_rows" }, { 0 }, 0 },
		{ { "visit" }, { 0 }, (2 << 20) + 900000 + 120000 },
		{ { "vis?t", "app::load_rows" }, { 0 }, (2 << 20) + 900000 + LOADED },
		{ { "vis?t" }, { "app::load_rows" }, (2 << 20) + 900000 },
		{ { "load.cc" }, { 0 }, LOADED },
		{ { "src/load.cc" }, { 0 }, LOADED },
		{ { "rc/load.cc" }, { 0 }, 0 },
		{ { "load.cc:131" }, { "load.cc:120" }, 700000 + 120000 },
		{ { "load.cc:13" }, { 0 }, 0 },
		{ { "libblob.so" }, { 0 }, 250000 + 50000 },
		{ { "module:/opt/*" }, { 0 }, 250000 + 50000 },
		{ { "function:libblob.so" }, { 0 }, 0 },
		/* What comes before main is of no module. */
		{ { "libc.so*" }, { 0 }, 0 },
	};

	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct seep_profile *profile = sample_profile();
		struct seep_sites *sites = seep_sites_new(profile);
		const struct seep_profile_within within = {
			.within = cases[i].within,
			.within_count = count_of(cases[i].within),
			.without = cases[i].without,
			.without_count = count_of(cases[i].without),
		};
		uint64_t sum = 0;

		(void)seep_within(profile, sites, &within, NULL);
		for (uint32_t k = 0; k < profile->context_count; k++)
			sum += profile->contexts[k].live_bytes;
		if (sum != cases[i].live_bytes || profile->totals.live_bytes != sum)
			fail_msg("case %zu: %llu", i, (unsigned long long)sum);
		assert_false(seep_profile_knows(profile, "own_bytes"));
		assert_true(seep_profile_knows(profile, "live_bytes"));
		seep_sites_free(sites);
		seep_profile_free(profile);
	}
}

/* 100 blocks that line 131 allocated are lost, and with them 12 that line 120 did. */
TEST(leaks_are_those_of_its_stacks_and_go_with_those_alone)
{
	static const struct {
		const char *pattern;
		uint8_t verdict;
		uint64_t blocks, with_blocks;
	} cases[] = {
		{ "app::load_rows", SEEP_VERDICT_LOST, 100, 12 },
		{ "load.cc:131", SEEP_VERDICT_LOST, 100, 0 },
		{ "load.cc:120", SEEP_VERDICT_LOST_WITH, 12, 0 },
	};

	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct seep_profile *profile = sample_profile_with_leaks();
		struct seep_sites *sites = seep_sites_new(profile);
		const struct seep_profile_within within = { .within = &cases[i].pattern,
							    .within_count = 1 };
		const struct seep_profile_leak *first = &profile->leaks[0];
		uint64_t blocks = 0;

		(void)seep_within(profile, sites, &within, NULL);
		assert_int_equal(first->verdict, cases[i].verdict);
		assert_int_equal(first->blocks, cases[i].blocks);
		assert_int_equal(first->with_blocks, cases[i].with_blocks);
		assert_int_equal(first->root, 0);
		for (uint32_t k = 0; k < profile->leak_count; k++) {
			const struct seep_profile_leak *leak = &profile->leaks[k];

			assert_in_range(leak->context, 1, profile->context_count);
			assert_int_equal(profile->contexts[leak->context - 1].hash, leak->hash);
			blocks += leak->blocks;
		}
		assert_int_equal(profile->scan.blocks, blocks);
		seep_sites_free(sites);
		seep_profile_free(profile);
	}
}

TEST(a_copy_leaves_the_whole_as_it_is)
{
	struct seep_profile *whole = sample_profile();
	struct seep_profile copy = { 0 };
	const struct seep_profile_within rows = {
		.within = (const char *const[]){ "app::load_rows" }, .within_count = 1
	};
	const uint64_t live_bytes = whole->totals.live_bytes;
	const uint32_t count = whole->context_count;
	struct seep_symbols *symbols;

	assert_int_equal(seep_symbols_new(&(struct seep_symbols_options){ 0 }, &symbols, NULL), 0);
	assert_ptr_equal(seep_within_copy(whole, symbols, NULL, &copy), whole);
	for (int again = 0; again < 2; again++) {
		assert_ptr_equal(seep_within_copy(whole, symbols, &rows, &copy), &copy);
		assert_int_equal(copy.totals.live_bytes, LOADED);
		assert_int_equal(whole->totals.live_bytes, live_bytes);
		assert_int_equal(whole->context_count, count);
		assert_null(whole->within);
	}
	seep_symbols_free(symbols);
	seep_arena_free(copy.arena);
	seep_profile_free(whole);
}

TEST(the_nearest_name_is_offered)
{
	struct seep_profile *profile = sample_profile();
	struct seep_error err = { 0 };

	assert_int_equal(seep_within_fail(profile, "vizit", &err), -SEEP_ENOTFOUND);
	assert_string_equal(err.text, "no call stack goes through vizit; did you mean visit?");
	assert_int_equal(seep_within_fail(profile, "nothing_at_all", &err), -SEEP_ENOTFOUND);
	assert_string_equal(err.text, "no call stack goes through nothing_at_all");
	seep_profile_free(profile);
}
