/* SPDX-License-Identifier: MIT */
/* Hostile names and the terminal: what is escaped, how wide the rest is. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/terminal.h"

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

static void hostile_bytes_are_escaped_and_text_stays(void **state)
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

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		char *escaped = seep_escape_dup(cases[i].text);

		assert_string_equal(escaped, cases[i].escaped);
		free(escaped);
	}
}

static void nul_bytes_are_escaped_too(void **state)
{
	struct seep_strbuf buf;

	(void)state;
	seep_strbuf_init(&buf, 100);
	seep_escape(&buf, "a\0b", 3);
	assert_string_equal(buf.text, "a\\x00b");
	seep_strbuf_done(&buf);
}

static void escaping_never_leaves_a_control_byte(void **state)
{
	char all[256];
	struct seep_strbuf buf;

	(void)state;
	for (int i = 0; i < 256; i++)
		all[i] = (char)i;
	seep_strbuf_init(&buf, 4 * sizeof(all));
	seep_escape(&buf, all, sizeof(all));
	assert_false(buf.overflowed);
	for (size_t i = 0; i < buf.length; i++)
		assert_in_range((unsigned char)buf.text[i], 0x20, 0x7e);
	seep_strbuf_done(&buf);
}

static void width_counts_columns_not_bytes(void **state)
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

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++)
		assert_int_equal(seep_display_width(cases[i].text, strlen(cases[i].text)),
				 cases[i].width);
}

static void fitting_cuts_between_characters(void **state)
{
	const char *text = "a\xe6\xbc\xa2"
			   "b";
	size_t columns;

	(void)state;
	assert_int_equal(seep_display_fit(text, 5, 2, &columns), 1);
	assert_int_equal(columns, 1);
	assert_int_equal(seep_display_fit(text, 5, 3, &columns), 4);
	assert_int_equal(columns, 3);
	assert_int_equal(seep_display_fit(text, 5, 100, &columns), 5);
	assert_int_equal(columns, 4);
}

static void no_color_and_dumb_terminals_are_respected(void **state)
{
	(void)state;
	/* Neither a file nor a pipe is a terminal, so the answer is no whatever the environment. */
	assert_int_equal(unsetenv("NO_COLOR"), 0);
	assert_false(seep_terminal_color(-1));
	assert_int_equal(seep_terminal_width(-1, 77), 77);
	assert_false(seep_terminal_is(-1));
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(hostile_bytes_are_escaped_and_text_stays),
		cmocka_unit_test(nul_bytes_are_escaped_too),
		cmocka_unit_test(escaping_never_leaves_a_control_byte),
		cmocka_unit_test(width_counts_columns_not_bytes),
		cmocka_unit_test(fitting_cuts_between_characters),
		cmocka_unit_test(no_color_and_dumb_terminals_are_respected),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
