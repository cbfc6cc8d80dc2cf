/* SPDX-License-Identifier: MIT */
/* The JSON writer's bytes, and a whole document compared with what it should be. */
#include <stdio.h>
#include <stdlib.h>

#include "base/json_writer.h"
#include "golden.h"
#include "report/report.h"
#include "sample_leaks.h"
#include "unit.h"

static struct seep_json *json;
static char *text;
static size_t text_bytes;
static FILE *out;

static void begin(bool strings)
{
	out = open_memstream(&text, &text_bytes);
	assert_non_null(out);
	json = seep_json_new(out, strings);
}

static void expect(const char *expected)
{
	seep_json_finish(json);
	assert_int_equal(fclose(out), 0);
	assert_string_equal(text, expected);
	free(text);
}

TEST(numbers_are_exact_to_the_last_bit)
{
	begin(false);
	seep_json_open_array(json, NULL);
	seep_json_u64(json, NULL, UINT64_MAX);
	seep_json_u64(json, NULL, (UINT64_C(1) << 53) + 1);
	seep_json_int(json, NULL, INT64_MIN);
	seep_json_u64(json, NULL, 0);
	seep_json_close(json);
	expect("[\n 18446744073709551615,\n 9007199254740993,\n -9223372036854775808,\n 0\n]\n");
}

TEST(large_numbers_become_strings_on_request_and_small_ones_do_not)
{
	begin(true);
	seep_json_open_object(json, NULL);
	seep_json_u64(json, "bytes", UINT64_MAX);
	seep_json_int(json, "line", 12);
	seep_json_close(json);
	expect("{\n \"bytes\":\"18446744073709551615\",\n \"line\":12\n}\n");
}

TEST(deep_levels_share_a_line)
{
	begin(false);
	seep_json_open_object(json, NULL);
	seep_json_open_array(json, "list");
	seep_json_open_object(json, NULL);
	seep_json_null(json, "a");
	seep_json_bool(json, "b", true);
	seep_json_open_array(json, "c");
	seep_json_close(json);
	seep_json_close(json);
	seep_json_close(json);
	seep_json_open_array(json, "empty");
	seep_json_close(json);
	seep_json_close(json);
	expect("{\n \"list\":[\n  {\"a\":null,\"b\":true,\"c\":[]}\n ],\n \"empty\":[]\n}\n");
}

TEST(text_is_escaped_so_that_every_byte_can_be_recovered)
{
	static const struct {
		const char *text;
		const char *json;
	} cases[] = {
		{ "plain", "\"plain\"\n" },
		{ "", "\"\"\n" },
		{ "quote\" back\\slash", "\"quote\\\" back\\\\slash\"\n" },
		{ "a\nb\tc\033d\x01", "\"a\\nb\\tc\\u001bd\\u0001\"\n" },
		{ "\x7f\xc2\x9b", "\"\\u007f\\u009b\"\n" },
		/* Characters that turn a line around, or end it for some readers. */
		{ "a\u202eb\u2066\u2028", "\"a\\u202eb\\u2066\\u2028\"\n" },
		{ "grün ☃ \xf0\x9f\x98\x80", "\"grün ☃ \xf0\x9f\x98\x80\"\n" },
		{ "bad \xff\xfe", "\"bad \\\\xff\\\\xfe\"\n" },
		{ "cut \xe2\x98", "\"cut \\\\xe2\\\\x98\"\n" },
		{ "surrogate \xed\xa0\x80", "\"surrogate \\\\xed\\\\xa0\\\\x80\"\n" },
		{ "overlong \xc0\xaf", "\"overlong \\\\xc0\\\\xaf\"\n" },
		{ "literal \\x41", "\"literal \\\\x5cx41\"\n" },
		{ "end\\", "\"end\\\\\"\n" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		begin(false);
		seep_json_text(json, NULL, cases[i].text);
		expect(cases[i].json);
	}
}

TEST(hashes_and_build_ids_are_hexadecimal)
{
	const uint8_t id[] = { 0x00, 0xab, 0xff };

	begin(false);
	seep_json_open_array(json, NULL);
	seep_json_hash(json, NULL, 0x00123456789abcde);
	seep_json_hex(json, NULL, id, sizeof(id));
	seep_json_hex(json, NULL, id, 0);
	seep_json_close(json);
	expect("[\n \"00123456789abcde\",\n \"00abff\",\n null\n]\n");
}

TEST(a_text_longer_than_any_buffer_comes_out_whole)
{
	const size_t bytes = 3 * 65536 + 17;
	char *big = malloc(bytes + 1);

	memset(big, 'x', bytes);
	big[bytes] = '\0';
	begin(false);
	seep_json_text(json, NULL, big);
	seep_json_finish(json);
	assert_int_equal(fclose(out), 0);
	assert_int_equal(text_bytes, bytes + 3);
	assert_memory_equal(text + 1, big, bytes);
	free(text);
	free(big);
}

/* A new version of seep is no reason to write the expected documents anew. */
static void hide_version(void)
{
	static const char hidden[] = "0";
	char *version = strstr(text, "\"version\":\"");
	char *end;

	assert_non_null(version);
	version += strlen("\"version\":\"");
	end = strchr(version, '"');
	memcpy(version, hidden, strlen(hidden));
	memmove(version + strlen(hidden), end, strlen(end) + 1);
}

static void check_document(const char *name, struct seep_profile *profile,
			   const struct seep_view_options *options, bool strings)
{
	out = open_memstream(&text, &text_bytes);
	seep_report_json(out, profile, options, strings);
	assert_int_equal(fclose(out), 0);
	hide_version();
	expect_golden(name, text);
	free(text);
	seep_profile_free(profile);
}

TEST(documents_are_as_agreed)
{
	static const struct seep_view_options plain = { .by = SEEP_BY_CHOICE };
	static const struct seep_view_options peak = { .by = SEEP_BY_PEAK, .top = 2 };
	static const struct seep_view_options two = { .by = SEEP_BY_CHOICE, .top = 2 };
	static const struct seep_view_options all = { .by = SEEP_BY_CHOICE,
						      .leak_kinds = UINT32_MAX };

	check_document("report.json", sample_profile(), &plain, false);
	check_document("report_strings_top.json", sample_profile(), &peak, true);
	/* Frames of leaks are there, though only two contexts are. */
	check_document("report_leaks.json", sample_profile_with_leaks(), &two, false);
	check_document("report_leaks_all.json", sample_profile_with_leaks(), &all, true);
}

/* What was written, without the line breaks. */
static bool document_has(struct seep_profile *profile, const struct seep_view_options *options,
			 const char *wanted)
{
	bool found;

	out = open_memstream(&text, &text_bytes);
	seep_report_json(out, profile, options, false);
	assert_int_equal(fclose(out), 0);
	found = strstr(text, wanted) != NULL;
	free(text);
	return found;
}

TEST(only_the_verdicts_that_were_asked_for_are_written)
{
	struct seep_profile *profile = sample_profile_with_leaks();
	struct seep_view_options options = { .by = SEEP_BY_CHOICE };

	assert_false(document_has(profile, &options, "REACHABLE"));
	assert_true(document_has(profile, &options, "IGNORED"));
	assert_true(document_has(profile, &options, "\"verdict\":\"unknown\""));
	assert_true(document_has(profile, &options, "\"root\":0,\"blocks\":12,"));
	options.leak_kinds = 1u << SEEP_VERDICT_REACHABLE | 1u << SEEP_VERDICT_LOST_WITH;
	assert_true(document_has(profile, &options, "REACHABLE"));
	assert_false(document_has(profile, &options, "IGNORED"));
	/* Its root is not there. */
	assert_true(document_has(profile, &options, "\"root\":null,\"blocks\":12,"));
	seep_profile_free(profile);
}

TEST(a_scan_that_was_not_made_says_why)
{
	struct seep_profile *profile = sample_profile();
	const struct seep_view_options options = { .by = SEEP_BY_CHOICE };

	assert_true(document_has(profile, &options, "\"scan\":null"));
	profile->scan.why_not = seep_profile_strdup(profile, "it was killed");
	assert_true(document_has(profile, &options,
				 "\"method\":null,\n  \"why_not\":\"it was killed\""));
	seep_profile_free(profile);
}
