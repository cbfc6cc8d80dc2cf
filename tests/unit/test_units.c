/* SPDX-License-Identifier: MIT */
/* Numbers for people: formatting at the edges of rounding, and reading what people type. */
#include <string.h>

#include "base/units.h"
#include "unit.h"

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

struct format_case {
	uint64_t value;
	const char *text;
};

struct parse_case {
	const char *text;
	int ret;
	uint64_t value;
};

static void check_format(struct seep_unit_text (*format)(uint64_t), const struct format_case *cases,
			 size_t count)
{
	for (size_t i = 0; i < count; i++)
		assert_string_equal(format(cases[i].value).text, cases[i].text);
}

static void check_parse(int (*parse)(const char *, uint64_t *, struct seep_error *),
			const struct parse_case *cases, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct seep_error err = { 0 };
		uint64_t value = 77;
		int ret = parse(cases[i].text, &value, &err);

		if (ret != cases[i].ret || (ret == 0 && value != cases[i].value))
			fail_msg("'%s' gave %d and %llu", cases[i].text, ret,
				 (unsigned long long)value);
		if (ret < 0) {
			assert_int_equal(value, 77);
			assert_int_equal(err.code, -ret);
			assert_true(err.text[0]);
		}
	}
}

TEST(bytes_take_the_unit_they_reach_after_rounding)
{
	static const struct format_case cases[] = {
		{ 0, "0 B" },
		{ 1023, "1023 B" },
		{ 1024, "1.0 KB" },
		{ 1536, "1.5 KB" },
		{ 102348, "99.9 KB" },
		{ 102349, "100 KB" },
		{ 1024 * 1023 + 511, "1023 KB" },
		{ 1024 * 1023 + 512, "1.0 MB" },
		{ 1024 * 1024, "1.0 MB" },
		{ 1572864, "1.5 MB" },
		{ 5ULL << 30, "5.0 GB" },
		{ 3ULL << 40, "3.0 TB" },
		{ UINT64_MAX, "16.0 EB" },
	};

	check_format(seep_bytes_text, cases, COUNT_OF(cases));
}

TEST(changes_carry_their_sign)
{
	assert_string_equal(seep_change_text(0, seep_bytes_text).text, "0 B");
	assert_string_equal(seep_change_text(1536, seep_bytes_text).text, "+1.5 KB");
	assert_string_equal(seep_change_text(-12, seep_bytes_text).text, "-12 B");
	assert_string_equal(seep_change_text(INT64_MIN, seep_bytes_text).text, "-8.0 EB");
	assert_string_equal(seep_change_text(-12345, seep_digits_text).text, "-12,345");
}

TEST(things_are_counted_in_singular_and_plural)
{
	assert_string_equal(seep_things_text(0, "block").text, "0 blocks");
	assert_string_equal(seep_things_text(1, "block").text, "1 block");
	assert_string_equal(seep_things_text(UINT64_MAX, "temporary allocation").text,
			    "18,446,744,073,709,551,615 temporary allocations");
}

TEST(counts_are_exact_below_ten_thousand)
{
	static const struct format_case cases[] = {
		{ 0, "0" },
		{ 9999, "9999" },
		{ 10000, "10.0 k" },
		{ 12345, "12.3 k" },
		{ 999499, "999 k" },
		{ 999500, "1.0 M" },
		{ 12345678, "12.3 M" },
		{ UINT64_MAX, "18.4 E" },
	};

	check_format(seep_count_text, cases, COUNT_OF(cases));
}

TEST(digits_are_grouped_by_three)
{
	static const struct format_case cases[] = {
		{ 0, "0" },
		{ 999, "999" },
		{ 1000, "1,000" },
		{ 1234567, "1,234,567" },
		{ UINT64_MAX, "18,446,744,073,709,551,615" },
	};

	check_format(seep_digits_text, cases, COUNT_OF(cases));
}

TEST(durations_read_as_people_say_them)
{
	static const struct format_case cases[] = {
		{ 0, "0 ns" },
		{ 999, "999 ns" },
		{ 1000, "1.0 µs" },
		{ 12500, "12.5 µs" },
		{ 3400000, "3.4 ms" },
		{ 999499999, "999 ms" },
		{ 999500000, "1.0 s" },
		{ 1230000000, "1.2 s" },
		{ 59499999999, "59.5 s" },
		{ 60000000000, "1 min" },
		{ 125000000000, "2 min 5 s" },
		{ 11040000000000, "3 h 4 min" },
		{ 183600000000000, "2 d 3 h" },
	};

	check_format(seep_duration_text, cases, COUNT_OF(cases));
}

TEST(percent_of_nothing_is_a_dash)
{
	assert_string_equal(seep_percent_text(1, 0).text, "-");
	assert_string_equal(seep_percent_text(0, 5).text, "0.0%");
	assert_string_equal(seep_percent_text(1, 3000).text, "<0.1%");
	assert_string_equal(seep_percent_text(1, 2000).text, "0.1%");
	assert_string_equal(seep_percent_text(1, 3).text, "33.3%");
	assert_string_equal(seep_percent_text(UINT64_MAX, UINT64_MAX).text, "100.0%");
}

TEST(sizes_are_read_with_their_suffixes)
{
	static const struct parse_case cases[] = {
		{ "0", 0, 0 },
		{ "4096", 0, 4096 },
		{ "12B", 0, 12 },
		{ "64K", 0, 65536 },
		{ "64k", 0, 65536 },
		{ "64KB", 0, 65536 },
		{ "64KiB", 0, 65536 },
		{ "1.5M", 0, 1572864 },
		{ "2G", 0, 2ULL << 30 },
		{ "15E", 0, 15ULL << 60 },
		{ "16E", -SEEP_EUSAGE, 0 },
		{ "18446744073709551615", 0, UINT64_MAX },
		{ "18446744073709551616", -SEEP_EUSAGE, 0 },
		{ "", -SEEP_EUSAGE, 0 },
		{ "K", -SEEP_EUSAGE, 0 },
		{ "-1", -SEEP_EUSAGE, 0 },
		{ " 1", -SEEP_EUSAGE, 0 },
		{ "1 K", -SEEP_EUSAGE, 0 },
		{ "1.", -SEEP_EUSAGE, 0 },
		{ "1.0000000001", -SEEP_EUSAGE, 0 },
		{ "1KX", -SEEP_EUSAGE, 0 },
		{ "1x", -SEEP_EUSAGE, 0 },
	};

	check_parse(seep_parse_size, cases, COUNT_OF(cases));
}

TEST(durations_are_read_with_their_suffixes)
{
	static const struct parse_case cases[] = {
		{ "10s", 0, 10000000000ULL },	{ "10", 0, 10000000000ULL },
		{ "1.5s", 0, 1500000000ULL },	{ "500ms", 0, 500000000ULL },
		{ "100us", 0, 100000ULL },	{ "20ns", 0, 20 },
		{ "2m", 0, 120000000000ULL },	{ "1h", 0, 3600000000000ULL },
		{ "1d", 0, 86400000000000ULL }, { "10 s", -SEEP_EUSAGE, 0 },
		{ "s", -SEEP_EUSAGE, 0 },	{ "99999999d", -SEEP_EUSAGE, 0 },
		{ "1M", -SEEP_EUSAGE, 0 },
	};

	check_parse(seep_parse_duration, cases, COUNT_OF(cases));
}

TEST(amounts_are_whole_numbers)
{
	static const struct parse_case cases[] = {
		{ "0", 0, 0 },
		{ "500", 0, 500 },
		{ "500.0", 0, 500 },
		{ "10k", 0, 10000 },
		{ "1.5K", 0, 1500 },
		{ "1.001k", 0, 1001 },
		{ "0.000001M", 0, 1 },
		{ "1.123456789T", 0, 1123456789000 },
		{ "0.5", -SEEP_EUSAGE, 0 },
		{ "1.0000001M", -SEEP_EUSAGE, 0 },
		{ "k", -SEEP_EUSAGE, 0 },
	};

	check_parse(seep_parse_amount, cases, COUNT_OF(cases));
}

/* A size that is none and one that is too large have different remedies. */
TEST(what_is_wrong_with_a_number_is_said)
{
	static const struct {
		int (*parse)(const char *, uint64_t *, struct seep_error *);
		const char *text, *said;
	} cases[] = {
		{ seep_parse_size, "99E", "too large; the maximum is 18446744073709551615" },
		{ seep_parse_size, "18446744073709551616", "too large" },
		{ seep_parse_size, "99999999999999999999999K", "too large" },
		{ seep_parse_size, "99999999999999999999999Q", "not a size" },
		{ seep_parse_size, "99Q", "not a size" },
		{ seep_parse_duration, "99999999d", "too large; the maximum is 213503 d 23 h" },
		{ seep_parse_duration, "soon", "not a duration" },
		{ seep_parse_amount, "20000000T",
		  "too large; the maximum is 18446744073709551615" },
		{ seep_parse_amount, "1KB", "not a count" },
		{ seep_parse_amount, "1.5.k", "not a count" },
		{ seep_parse_amount, "0.5", "'0.5' is not a whole number" },
		{ seep_parse_amount, "1.0001k", "'1.0001k' is not a whole number" },
		{ seep_parse_share, "1844674407370956%",
		  "too large; the maximum is 184467440737095" },
		{ seep_parse_share, "5", "not a share" },
	};

	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct seep_error err = { 0 };
		uint64_t value = 7;

		assert_int_equal(cases[i].parse(cases[i].text, &value, &err), -SEEP_EUSAGE);
		if (!strstr(err.text, cases[i].said))
			fail_msg("'%s' does not say '%s'", err.text, cases[i].said);
		assert_int_equal(value, 7);
	}
}

TEST(counts_are_plain_numbers_up_to_their_bound)
{
	struct seep_error err = { 0 };
	uint64_t value = 0;

	assert_int_equal(seep_parse_count("100", 100, &value, &err), 0);
	assert_int_equal(value, 100);
	assert_int_equal(seep_parse_count("101", 100, &value, &err), -SEEP_EUSAGE);
	assert_non_null(strstr(err.text, "100"));
	assert_int_equal(seep_parse_count("99999999999999999999", 100, &value, &err), -SEEP_EUSAGE);
	assert_non_null(strstr(err.text, "too large"));
	assert_int_equal(seep_parse_count("", 100, &value, NULL), -SEEP_EUSAGE);
	assert_int_equal(seep_parse_count("1.0", 100, &value, NULL), -SEEP_EUSAGE);
	assert_int_equal(seep_parse_count("1k", 100, &value, NULL), -SEEP_EUSAGE);
}
