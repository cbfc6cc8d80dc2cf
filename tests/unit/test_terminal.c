/* SPDX-License-Identifier: MIT */
/* Hostile names and the terminal: what is escaped, how wide the rest is. */
#include <stdlib.h>
#include <string.h>

#include "base/terminal.h"
#include "unit.h"

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

TEST(hostile_bytes_are_escaped_and_text_stays)
{
	static const struct {
		const char *text;
		const char *escaped;
	} cases[] = {
		{ "", "" },
		{ "plain", "plain" },
		{ "na\xc3\xafve \xe2\x82\xac \xf0\x9f\x98\x80",
		  "na\xc3\xafve \xe2\x82\xac \xf0\x9f\x98\x80" },
		{ "a\x1b[31mred", "a\\x1b[31mred" },
		{ "tab\tline\n", "tab\\tline\\n" },
		{ "bell\a del\x7f", "bell\\x07 del\\x7f" },
		{ "c1 \xc2\x9b"
		  "31m",
		  "c1 \\xc2\\x9b31m" },
		{ "lone \xff\xfe", "lone \\xff\\xfe" },
		{ "cut \xe2\x82", "cut \\xe2\\x82" },
		{ "overlong \xc0\xaf", "overlong \\xc0\\xaf" },
		{ "surrogate \xed\xa0\x80", "surrogate \\xed\\xa0\\x80" },
		{ "override \xe2\x80\xae"
		  "abc",
		  "override \\xe2\\x80\\xae"
		  "abc" },
		{ "\\", "\\" },
	};

	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		char *escaped = seep_escape_dup(cases[i].text);

		assert_string_equal(escaped, cases[i].escaped);
		free(escaped);
	}
}

TEST(nul_bytes_are_escaped_too)
{
	struct seep_strbuf buf;

	buf = seep_strbuf_of(100);
	seep_escape(&buf, "a\0b", 3);
	assert_string_equal(buf.text, "a\\x00b");
	seep_strbuf_done(&buf);
}

TEST(escaping_never_leaves_a_control_byte)
{
	char all[256];
	struct seep_strbuf buf;

	for (int i = 0; i < 256; i++)
		all[i] = (char)i;
	buf = seep_strbuf_of(4 * sizeof(all));
	seep_escape(&buf, all, sizeof(all));
	assert_false(buf.overflowed);
	for (size_t i = 0; i < buf.length; i++)
		assert_in_range((unsigned char)buf.text[i], 0x20, 0x7e);
	seep_strbuf_done(&buf);
}

TEST(width_counts_columns_not_bytes)
{
	static const struct {
		const char *text;
		size_t width;
	} cases[] = {
		{ "", 0 },
		{ "abc", 3 },
		{ "na\xc3\xafve", 5 },
		{ "e\xcc\x81", 1 },		   /* e and a combining acute accent */
		{ "\xe6\xbc\xa2\xe5\xad\x97", 4 }, /* two Han characters */
	};

	for (size_t i = 0; i < COUNT_OF(cases); i++)
		assert_int_equal(seep_display_width(cases[i].text, strlen(cases[i].text)),
				 cases[i].width);
}

TEST(fitting_cuts_between_characters)
{
	const char *text = "a\xe6\xbc\xa2"
			   "b";
	size_t columns;

	assert_int_equal(seep_display_fit(text, 5, 2, &columns), 1);
	assert_int_equal(columns, 1);
	assert_int_equal(seep_display_fit(text, 5, 3, &columns), 4);
	assert_int_equal(columns, 3);
	assert_int_equal(seep_display_fit(text, 5, 100, &columns), 5);
	assert_int_equal(columns, 4);
}

TEST(no_color_and_dumb_terminals_are_respected)
{
	/* Neither a file nor a pipe is a terminal, so the answer is no whatever the environment. */
	assert_int_equal(unsetenv("NO_COLOR"), 0);
	assert_false(seep_terminal_color(-1));
	assert_int_equal(seep_terminal_width(-1, 77), 77);
}
