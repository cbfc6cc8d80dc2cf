/* SPDX-License-Identifier: MIT */
/*
 * The list of exporters; and the formats that other tests open with their clients, byte for byte of
 * the sample profile, and of profiles that no program makes.
 */
#include "export_case.h"
#include "golden.h"
#include "sample_profile.h"
#include "unit.h"

#include <base/pprof.pb-c.h>
#include <ctype.h>

TEST(the_list_can_be_shown_to_people)
{
	for (size_t i = 0; i < SEEP_EXPORTER_COUNT; i++) {
		const struct seep_exporter *format = &seep_exporters[i];

		assert_string_equal(format->name, seep_exporter_names[i]);
		assert_int_equal(format->suffix[0], '.');
		assert_in_range(strlen(format->name) + strlen(format->summary), 8, 74);
		assert_int_not_equal(format->summary[strlen(format->summary) - 1], '.');
		for (size_t j = 0; j < i; j++) {
			assert_string_not_equal(format->name, seep_exporters[j].name);
			assert_string_not_equal(format->suffix, seep_exporters[j].suffix);
		}
	}
	assert_null(seep_exporter_names[SEEP_EXPORTER_COUNT]);
}

static void check_golden(const char *name, const char *file, bool has_version)
{
	struct seep_profile *profile = sample_profile();
	size_t bytes;
	char *text = exported(format_named(name), profile, SEEP_BY_CHOICE, &bytes);

	assert_int_equal(strlen(text), bytes);
	if (has_version)
		hide_version(text);
	expect_golden(file, text);
	free(text);
	seep_profile_free(profile);
}

TEST(text_formats_are_as_agreed)
{
	check_golden("folded", "export.folded", false);
	check_golden("speedscope", "export.speedscope.json", true);
	check_golden("jemalloc", "export.heap", false);
	check_golden("csv", "export.csv", false);
}

TEST(a_callable_in_the_library_has_its_name_in_exports_too)
{
	static const char *const formats[] = { "folded", "speedscope", "callgrind" };

	for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
		struct seep_profile *profile = sample_profile();
		size_t bytes;
		char *text;

		profile->frames[S_READ_FILE].function =
			"std::_Function_handler<void (), main::{lambda()#2}>::_M_invoke("
			"std::_Any_data const&)";
		profile->frames[S_READ_FILE].file = NULL;
		text = exported(format_named(formats[i]), profile, SEEP_BY_CHOICE, &bytes);
		assert_non_null(strstr(text, "main::{lambda()#2}"));
		assert_null(strstr(text, "_M_invoke"));
		free(text);
		seep_profile_free(profile);
	}
}

/* Release with pprof__profile__free_unpacked(). */
static Pprof__Profile *as_pprof(const struct seep_profile *profile, int by)
{
	size_t bytes;
	char *packed = exported(format_named("pprof"), profile, by, &bytes);
	uint32_t message_bytes;
	Pprof__Profile *read;
	char *message;

	/* The last word of a gzip file. */
	memcpy(&message_bytes, packed + bytes - sizeof(message_bytes), sizeof(message_bytes));
	message = unpacked(packed, bytes);
	read = pprof__profile__unpack(NULL, message_bytes, (uint8_t *)message);
	free(message);
	assert_non_null(read);
	return read;
}

static const char *type_of(const Pprof__Profile *read, size_t value)
{
	return read->string_table[read->sample_type[value]->type];
}

TEST(pprof_refers_to_nothing_that_is_not_there)
{
	struct seep_profile *profile = sample_profile();
	Pprof__Profile *read;

	/* No module has this number. */
	profile->frames[S_UNNAMED].module = 77;
	read = as_pprof(profile, SEEP_BY_CHOICE);
	assert_string_equal(read->string_table[0], "");
	assert_int_equal(read->n_sample, profile->context_count);
	assert_string_equal(read->string_table[read->mapping[0]->filename], profile->process.exe);
	assert_int_equal(read->n_mapping, profile->module_count + 1);
	for (size_t i = 0; i < read->n_location; i++) {
		const Pprof__Location *location = read->location[i];

		assert_int_equal(location->id, i + 1);
		assert_in_range(location->mapping_id, 1, read->n_mapping);
		assert_true(location->n_line > 0);
		for (size_t j = 0; j < location->n_line; j++)
			assert_in_range(location->line[j]->function_id, 1, read->n_function);
	}
	for (size_t i = 0; i < read->n_function; i++) {
		assert_int_equal(read->function[i]->id, i + 1);
		assert_in_range(read->function[i]->name, 1, read->n_string_table - 1);
	}
	for (size_t i = 0; i < read->n_sample; i++) {
		assert_true(read->sample[i]->n_location_id > 0);
		for (size_t j = 0; j < read->sample[i]->n_location_id; j++)
			assert_in_range(read->sample[i]->location_id[j], 1, read->n_location);
	}
	pprof__profile__free_unpacked(read, NULL);
	seep_profile_free(profile);
}

TEST(pprof_shows_the_measure_first_that_was_asked_for)
{
	static const char *const types[SEEP_MEASURE_COUNT] = {
		[SEEP_BY_LIVE] = "inuse_space",
		[SEEP_BY_PEAK] = "peak_space",
		[SEEP_BY_ALLOCS] = "alloc_objects",
		[SEEP_BY_TEMPORARY] = "temporary_objects",
	};
	struct seep_profile *profile = sample_profile();

	for (int by = SEEP_BY_CHOICE; by < SEEP_MEASURE_COUNT; by++) {
		Pprof__Profile *read = as_pprof(profile, by);

		assert_string_equal(read->string_table[read->default_sample_type],
				    types[by == SEEP_BY_CHOICE ? SEEP_BY_LIVE : by]);
		pprof__profile__free_unpacked(read, NULL);
	}
	seep_profile_free(profile);
}

static void make_huge(struct seep_profile *profile)
{
	for (uint32_t i = 0; i < profile->context_count; i++) {
		struct seep_profile_context *c = &profile->contexts[i];

		c->allocs = c->alloc_bytes = UINT64_MAX;
		c->live_blocks = c->live_bytes = (uint64_t)1 << 63;
		c->peak_blocks = c->peak_bytes = INT64_MAX;
		c->temporary = UINT64_MAX - i;
	}
}

TEST(values_beyond_63_bits_stop_there_and_never_turn_negative)
{
	struct seep_profile *profile = sample_profile();
	Pprof__Profile *read;
	size_t bytes;
	char *text;

	make_huge(profile);
	read = as_pprof(profile, SEEP_BY_CHOICE);
	for (size_t i = 0; i < read->n_sample; i++)
		for (size_t j = 0; j < read->sample[i]->n_value; j++)
			assert_true(read->sample[i]->value[j] == INT64_MAX);
	assert_string_equal(type_of(read, 3), "inuse_space");
	pprof__profile__free_unpacked(read, NULL);
	for (size_t i = 0; i < SEEP_EXPORTER_COUNT; i++) {
		if (seep_exporters[i].binary)
			continue;
		text = exported(&seep_exporters[i], profile, SEEP_BY_CHOICE, &bytes);
		for (char *at = text; (at = strchr(at, '-')) != NULL; at++)
			assert_false(isdigit((unsigned char)at[1]) && at[-1] == ' ');
		free(text);
	}
	/* CSV has what was counted. */
	text = exported(format_named("csv"), profile, SEEP_BY_CHOICE, &bytes);
	assert_non_null(strstr(text, ",18446744073709551615,18446744073709551615,"));
	free(text);
	seep_profile_free(profile);
}

/* A recording may say anything. */
TEST(a_stack_that_ends_in_an_inlined_call_is_written)
{
	struct seep_profile *profile = sample_profile();
	Pprof__Profile *read;
	size_t bytes;

	sample_context(profile, 0, 1, 10, S_MAIN, S_ALLOCATE, SAMPLE_END);
	sample_context(profile, 200, 1, 20, S_ALLOCATE, SAMPLE_END);
	read = as_pprof(profile, SEEP_BY_CHOICE);
	assert_int_equal(read->sample[read->n_sample - 2]->n_location_id, 2);
	assert_int_equal(read->sample[read->n_sample - 1]->n_location_id, 1);
	pprof__profile__free_unpacked(read, NULL);
	for (size_t i = 0; i < SEEP_EXPORTER_COUNT; i++)
		free(exported(&seep_exporters[i], profile, SEEP_BY_CHOICE, &bytes));
	seep_profile_free(profile);
}

TEST(nothing_at_all_is_a_file_too)
{
	struct seep_profile *profile = seep_profile_new();
	size_t bytes;

	for (size_t i = 0; i < SEEP_EXPORTER_COUNT; i++) {
		char *first = exported(&seep_exporters[i], profile, SEEP_BY_CHOICE, &bytes);
		char *second = exported(&seep_exporters[i], profile, SEEP_BY_PEAK, &bytes);

		assert_non_null(first);
		free(first);
		free(second);
	}
	seep_profile_free(profile);
}
