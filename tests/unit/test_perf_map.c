/* SPDX-License-Identifier: MIT */
/* Names from perf maps, whatever the file says. */
#include "symbol/perf_map.h"
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { COUNT = 4 };

static const uint64_t addresses[COUNT] = { 0x1000, 0x10ff, 0x1100, UINT64_MAX };

static void check(const char *text, size_t bytes, const char *const *expected)
{
	char *names[COUNT] = { NULL };
	FILE *file = tmpfile();

	assert_non_null(file);
	assert_int_equal(fwrite(text, 1, bytes, file), bytes);
	rewind(file);
	assert_int_equal(seep_perf_map_read(fileno(file), addresses, COUNT, names, NULL), 0);
	for (size_t i = 0; i < COUNT; i++) {
		if (expected[i])
			assert_string_equal(names[i], expected[i]);
		else
			assert_null(names[i]);
		free(names[i]);
	}
	fclose(file);
}

TEST(each_address_has_the_last_name_that_covers_it)
{
	static const struct {
		const char *text;
		const char *expected[COUNT];
	} cases[] = {
		{ "", { NULL } },
		{ "1000 100 one\n", { "one", "one" } },
		{ "1000 100 one\n10f0 20 two\n", { "one", "two", "two" } },
		{ "0x1000 0x1 prefixed name with blanks\n", { "prefixed name with blanks" } },
		{ "1000 0 nothing\n", { NULL } },
		{ "1000 100 unfinished", { NULL } },
		{ "1000 100 \n1000\n1000 100\n\n \n 1000 100 x\n", { NULL } },
		{ "-1000 100 x\n+1000 100 x\n1000 -1 x\ng 100 x\n", { NULL } },
		{ "1000 ffffffffffffffff all\n", { "all", "all", "all", "all" } },
		{ "ffffffffffffffff 1 last\n", { NULL, NULL, NULL, "last" } },
		{ "fffffffffffffffff 1 too long\n", { NULL } },
		{ "1100 1 a\r\n", { NULL, NULL, "a\r" } },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		check(cases[i].text, strlen(cases[i].text), cases[i].expected);
}

TEST(a_byte_of_zero_ends_a_name)
{
	static const char text[] = "1000 1 a\0b\n10ff 1 c\n";
	static const char *const expected[COUNT] = { "a", "c" };

	check(text, sizeof(text) - 1, expected);
}

TEST(a_line_without_end_is_cut_and_the_next_one_counts)
{
	enum { LONG = 1 << 20 };
	char *text = malloc(LONG + 32);
	char *cut = malloc(SEEP_PERF_MAP_LINE_MAX);
	const char *expected[COUNT] = { cut, "b" };

	memset(text, 'a', LONG);
	memcpy(text, "1000 1 ", 7);
	strcpy(text + LONG, "\n10ff 1 b\n");
	memset(cut, 'a', SEEP_PERF_MAP_LINE_MAX);
	cut[SEEP_PERF_MAP_LINE_MAX - 1 - 7] = '\0';
	check(text, strlen(text), expected);
	free(cut);
	free(text);
}

TEST(what_cannot_be_read_is_an_error)
{
	char *names[COUNT] = { NULL };
	struct seep_error err = { 0 };

	assert_int_equal(seep_perf_map_read(-1, addresses, COUNT, names, &err), -SEEP_ESYS);
	assert_non_null(strstr(err.text, "perf map"));
}
