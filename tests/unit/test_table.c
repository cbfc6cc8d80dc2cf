/* SPDX-License-Identifier: MIT */
/* Text tables: alignment, and what gives way when the terminal is narrow. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/table.h"
#include "unit.h"

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

static const struct seep_column columns[] = {
	{ "LIVE", SEEP_ALIGN_RIGHT, SEEP_CUT_NEVER, 0 },
	{ "FUNCTION", SEEP_ALIGN_LEFT, SEEP_CUT_END, 0 },
	{ "FILE", SEEP_ALIGN_LEFT, SEEP_CUT_START, 0 },
};

/* Print @cells at @width and compare. */
static void check(const char *const *cells, size_t count, size_t width, const char *expected)
{
	struct seep_table *table = seep_table_new(columns, COUNT_OF(columns));
	char *text = NULL;
	size_t bytes = 0;
	FILE *out = open_memstream(&text, &bytes);

	for (size_t i = 0; i < count; i++)
		seep_table_add(table, cells[i]);
	seep_table_print(table, &(struct seep_printer){ out, width, false }, 0);
	(void)fclose(out);
	assert_string_equal(text, expected);
	free(text);
	seep_table_free(table);
}

TEST(columns_are_as_wide_as_they_need)
{
	static const char *const cells[] = {
		"1.5 MB", "parse", "src/parse.c", "12 B", "main", "m.c"
	};

	check(cells, COUNT_OF(cells), 0,
	      "  LIVE  FUNCTION  FILE\n"
	      "1.5 MB  parse     src/parse.c\n"
	      "  12 B  main      m.c\n");
}

TEST(what_cannot_be_cut_enough_stands_upright)
{
	static const char *const cells[] = {
		"1.5 MB", "a_function_with_a_name", "s/\xc3\xa4.c", "12 B", "", "m.c"
	};
	struct seep_table *table = seep_table_new(columns, COUNT_OF(columns));
	char *text = NULL;
	size_t bytes = 0;
	FILE *out = open_memstream(&text, &bytes);

	for (size_t i = 0; i < COUNT_OF(cells); i++)
		seep_table_add(table, cells[i]);
	/* Natural 6 + 2 + 22 + 2 + 5; the function gives way down to 12. */
	assert_true(seep_table_fits(table, 0));
	assert_true(seep_table_fits(table, 37));
	assert_true(seep_table_fits(table, 27));
	assert_false(seep_table_fits(table, 26));
	seep_table_print_upright(table, out);
	(void)fclose(out);
	assert_string_equal(text, "LIVE      1.5 MB\n"
				  "FUNCTION  a_function_with_a_name\n"
				  "FILE      s/\xc3\xa4.c\n"
				  "\n"
				  "LIVE      12 B\n"
				  "FUNCTION\n"
				  "FILE      m.c\n");
	free(text);
	seep_table_free(table);
}

TEST(wide_table_cuts_names_at_the_end_and_paths_at_the_start)
{
	static const char *const cells[] = { "1 B", "a_function_with_a_long_name",
					     "some/folder/with/a/file.c" };

	check(cells, COUNT_OF(cells), 40,
	      "LIVE  FUNCTION          FILE\n"
	      " 1 B  a_function_with…  …r/with/a/file.c\n");
}

TEST(columns_that_may_go_leave_their_room_to_names)
{
	static const struct seep_column some[] = {
		{ "LIVE", SEEP_ALIGN_RIGHT, SEEP_CUT_NEVER, 0 },
		{ "BLOCKS", SEEP_ALIGN_RIGHT, SEEP_CUT_NEVER, 2 },
		{ "STACKS", SEEP_ALIGN_RIGHT, SEEP_CUT_NEVER, 1 },
		{ "FUNCTION", SEEP_ALIGN_LEFT, SEEP_CUT_END, 0 },
	};
	static const char *const lines[] = {
		"LIVE  BLOCKS  STACKS  FUNCTION\n 1 B       1       2  a_function_with_a_name\n",
		"LIVE  BLOCKS  FUNCTION\n 1 B       1  a_function_with_a_n…\n",
		"LIVE  FUNCTION\n 1 B  a_function_with_a_n…\n",
	};
	static const size_t widths[] = { 44, 34, 26 };

	for (size_t i = 0; i < COUNT_OF(widths); i++) {
		struct seep_table *table = seep_table_new(some, COUNT_OF(some));
		char *text = NULL;
		size_t bytes = 0;
		FILE *out = open_memstream(&text, &bytes);

		seep_table_add(table, "1 B");
		seep_table_add(table, "1");
		seep_table_add(table, "2");
		seep_table_add(table, "a_function_with_a_name");
		seep_table_print(table, &(struct seep_printer){ out, widths[i], false }, 0);
		(void)fclose(out);
		assert_string_equal(text, lines[i]);
		free(text);
		seep_table_free(table);
	}
}

TEST(very_narrow_terminal_keeps_twelve_columns_of_each)
{
	static const char *const cells[] = { "1 B", "a_function_with_a_long_name",
					     "some/folder/with/a/file.c" };

	check(cells, COUNT_OF(cells), 10,
	      "LIVE  FUNCTION      FILE\n"
	      " 1 B  a_function_…  …th/a/file.c\n");
}

TEST(cells_are_escaped_and_short_rows_filled)
{
	static const char *const cells[] = { "1 B", "a\x1b[1m", NULL, "2 B" };

	check(cells, COUNT_OF(cells), 0,
	      "LIVE  FUNCTION  FILE\n"
	      " 1 B  a\\x1b[1m\n"
	      " 2 B\n");
}

TEST(wide_characters_take_two_columns)
{
	static const char *const cells[] = { "1 B", "\xe6\xbc\xa2\xe5\xad\x97", "x", "1 B", "abcd",
					     "y" };

	check(cells, COUNT_OF(cells), 0,
	      "LIVE  FUNCTION  FILE\n"
	      " 1 B  \xe6\xbc\xa2\xe5\xad\x97      x\n"
	      " 1 B  abcd      y\n");
}

TEST(table_without_rows_prints_its_headings)
{
	check(NULL, 0, 0, "LIVE  FUNCTION  FILE\n");
	seep_table_free(NULL);
}
