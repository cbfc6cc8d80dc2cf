/* SPDX-License-Identifier: MIT */
/* The grammar of budgets, well and wrongly written, and files of them. */
#include "analysis/budget.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static void budgets_mean_what_they_say(void **state)
{
	static const struct {
		const char *text;
		enum seep_budget_place place;
		const char *glob;
		enum seep_budget_measure measure;
		bool is_below, is_relative, is_share;
		uint64_t limit;
	} cases[] = {
		{ "peak<24MB", 0, NULL, SEEP_BUDGET_PEAK, true, false, false, 24 << 20 },
		{ " live <= 1.5K\t", 0, NULL, SEEP_BUDGET_LIVE, false, false, false, 1536 },
		{ "blocks<7", 0, NULL, SEEP_BUDGET_BLOCKS, true, false, false, 7 },
		{ "lost<=0", 0, NULL, SEEP_BUDGET_LOST, false, false, false, 0 },
		{ "leaks<=0", 0, NULL, SEEP_BUDGET_LEAKS, false, false, false, 0 },
		{ "growth<1", 0, NULL, SEEP_BUDGET_GROWTH, true, false, false, 1 },
		{ "allocs<10k", 0, NULL, SEEP_BUDGET_ALLOCS, true, false, false, 10000 },
		{ "allocs<=1.5M", 0, NULL, SEEP_BUDGET_ALLOCS, false, false, false, 1500000 },
		{ "allocated<18446744073709551615", 0, NULL, SEEP_BUDGET_ALLOCATED, true, false,
		  false, UINT64_MAX },
		{ "temporary<2G", 0, NULL, SEEP_BUDGET_TEMPORARY, true, false, false, 2000000000 },
		{ "live<+5%", 0, NULL, SEEP_BUDGET_LIVE, true, true, true, 50000 },
		{ "live<=+0%", 0, NULL, SEEP_BUDGET_LIVE, false, true, true, 0 },
		{ "peak<+1MB", 0, NULL, SEEP_BUDGET_PEAK, true, true, false, 1 << 20 },
		{ "allocs<=+0", 0, NULL, SEEP_BUDGET_ALLOCS, false, true, false, 0 },
		{ "function:parse_*:allocs<10k", SEEP_PLACE_FUNCTION, "parse_*", SEEP_BUDGET_ALLOCS,
		  true, false, false, 10000 },
		{ "own-function:std::vector<*>::push_back:live<1", SEEP_PLACE_OWN_FUNCTION,
		  "std::vector<*>::push_back", SEEP_BUDGET_LIVE, true, false, false, 1 },
		{ "function:operator<(A, B) : live <1", SEEP_PLACE_FUNCTION, "operator<(A, B)",
		  SEEP_BUDGET_LIVE, true, false, false, 1 },
		{ "module : libfoo.so* :peak<1", SEEP_PLACE_MODULE, "libfoo.so*", SEEP_BUDGET_PEAK,
		  true, false, false, 1 },
		{ "own-module:a:b:leaks<=3", SEEP_PLACE_OWN_MODULE, "a:b", SEEP_BUDGET_LEAKS, false,
		  false, false, 3 },
	};
	struct seep_budgets budgets = { 0 };

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct seep_error err = { 0 };
		const struct seep_budget *budget;

		if (seep_budgets_add(&budgets, cases[i].text, &err) != 0)
			fail_msg("%s: %s", cases[i].text, err.text);
		budget = &budgets.items[i];
		assert_int_equal(budget->place, cases[i].place);
		assert_int_equal(budget->measure, cases[i].measure);
		assert_int_equal(budget->is_below, cases[i].is_below);
		assert_int_equal(budget->is_relative, cases[i].is_relative);
		assert_int_equal(budget->is_share, cases[i].is_share);
		assert_int_equal(budget->limit, cases[i].limit);
		if (cases[i].glob)
			assert_string_equal(budget->glob, cases[i].glob);
		else
			assert_null(budget->glob);
	}
	seep_budgets_done(&budgets);
}

static void what_is_no_budget_is_refused_with_a_reason(void **state)
{
	static const struct {
		const char *text, *why;
	} cases[] = {
		{ "", "write for example" },
		{ "peak", "write for example" },
		{ "peak>1", "write for example" },
		{ "<1", "is no measure" },
		{ "peek<1", "did you mean peak?" },
		{ "peak<", "is not a size" },
		{ "peak<=", "is not a size" },
		{ "peak<-1", "is not a size" },
		{ "peak<1x", "is not a size" },
		{ "peak<5%", "write +5%" },
		{ "peak<0", "write <=0" },
		{ "peak<+0", "write <=+0" },
		{ "peak<+", "is not a size" },
		{ "peak<++1", "is not a size" },
		{ "peak<17000000T", "too large" },
		{ "allocs<20000000000G", "too large" },
		{ "allocs<1kk", "is not a count" },
		{ "allocs<1KB", "is not a count" },
		{ "live<+5%%", "is not a share" },
		{ "live<+%", "is not a share" },
		{ "function:live<1", "lacks a name" },
		{ "function::live<1", "lacks a name" },
		{ "function: :live<1", "lacks a name" },
		{ "fuction:a:live<1", "did you mean function?" },
		{ ":live<1", "is no place" },
		{ "\033[31m<1", "is no measure" },
	};
	struct seep_budgets budgets = { 0 };

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct seep_error err = { 0 };

		assert_int_equal(seep_budgets_add(&budgets, cases[i].text, &err), -SEEP_EUSAGE);
		if (!strstr(err.text, cases[i].why))
			fail_msg("%s: %s", cases[i].text, err.text);
	}
	assert_int_equal(budgets.count, 0);
	seep_budgets_done(&budgets);
}

/* Reads a file with these bytes. */
static int read_bytes(const char *bytes, size_t count, struct seep_budgets *ret,
		      struct seep_error *err)
{
	char path[] = "/tmp/seep-budgets-XXXXXX";
	int fd = mkstemp(path);
	int rc;

	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, count), (ssize_t)count);
	(void)close(fd);
	*ret = (struct seep_budgets){ 0 };
	rc = seep_budgets_read(ret, path, err);
	(void)unlink(path);
	return rc;
}

static void a_file_has_a_budget_on_each_line_and_comments(void **state)
{
	static const char text[] = "# of the nightly run\n"
				   "\n"
				   "  peak<24MB  # megabytes\r\n"
				   "function:f(int)::{lambda()#1}:allocs<5\t# a '#' in a name\n"
				   "#live<1\n"
				   "leaks<=0";
	struct seep_error err = { 0 };
	struct seep_budgets budgets;

	(void)state;
	assert_int_equal(read_bytes(text, sizeof(text) - 1, &budgets, &err), 0);
	assert_int_equal(budgets.count, 3);
	assert_string_equal(budgets.items[0].text, "peak<24MB");
	assert_string_equal(budgets.items[1].glob, "f(int)::{lambda()#1}");
	assert_string_equal(budgets.items[2].text, "leaks<=0");
	seep_budgets_done(&budgets);
}

static void a_hostile_file_is_refused_by_line(void **state)
{
	static const struct {
		const char *bytes;
		size_t count;
		const char *why;
	} cases[] = {
#define CASE(bytes, why) { bytes, sizeof(bytes) - 1, why }
		CASE("peak<1\nlive<x\n", ":2: 'live<x': 'x' is not a size"),
		CASE("peak<1\npeak<\0"
		     "24MB\n",
		     ":2: a zero byte"),
		CASE("\0", ":1: a zero byte"),
		CASE("\n\n\xff\xfe<1", ":3: "),
#undef CASE
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct seep_error err = { 0 };
		struct seep_budgets budgets;

		assert_int_equal(read_bytes(cases[i].bytes, cases[i].count, &budgets, &err),
				 -SEEP_EUSAGE);
		if (!strstr(err.text, cases[i].why))
			fail_msg("%zu: %s", i, err.text);
		seep_budgets_done(&budgets);
	}
}

static void files_have_bounds(void **state)
{
	const size_t bytes = (size_t)SEEP_BUDGETS_FILE_BYTES_MAX + 1;
	char *text = malloc(bytes);
	struct seep_error err = { 0 };
	struct seep_budgets budgets;

	(void)state;
	assert_non_null(text);
	memset(text, '\n', bytes);
	assert_int_equal(read_bytes(text, bytes, &budgets, &err), -SEEP_ELIMIT);
	for (size_t i = 0; i <= SEEP_BUDGETS_MAX; i++)
		memcpy(text + 7 * i, "peak<1\n", 7);
	assert_int_equal(read_bytes(text, (size_t)7 * (SEEP_BUDGETS_MAX + 1), &budgets, &err),
			 -SEEP_ELIMIT);
	assert_non_null(strstr(err.text, ":1001: more than 1000 budgets"));
	assert_int_equal(budgets.count, SEEP_BUDGETS_MAX);
	seep_budgets_done(&budgets);
	/* One long line is one name. */
	memset(text, 'x', bytes);
	memcpy(text, "function:", 9);
	memcpy(text + 100000, ":live<1", 7);
	assert_int_equal(read_bytes(text, 100007, &budgets, &err), 0);
	assert_int_equal(strlen(budgets.items[0].glob), 100000 - 9);
	seep_budgets_done(&budgets);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(budgets_mean_what_they_say),
		cmocka_unit_test(what_is_no_budget_is_refused_with_a_reason),
		cmocka_unit_test(a_file_has_a_budget_on_each_line_and_comments),
		cmocka_unit_test(a_hostile_file_is_refused_by_line),
		cmocka_unit_test(files_have_bounds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
