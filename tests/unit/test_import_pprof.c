/* SPDX-License-Identifier: MIT */
/* pprof's messages, as protobuf-c writes them, and what must not be in them. */
#include "import/import.h"

#include "profile/profile.h"
#include "unit.h"

#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include <base/pprof.pb-c.h>

enum { TYPES = 4, SAMPLES = 3, LOCATIONS = 3, STRINGS = 19 };

/* A message whose parts each test may change before it is written. */
static struct {
	Pprof__Profile profile;
	Pprof__ValueType types[TYPES], period;
	Pprof__Sample samples[SAMPLES];
	Pprof__Location locations[LOCATIONS];
	Pprof__Line lines[2];
	Pprof__Function functions[2];
	Pprof__Mapping mapping;
	Pprof__Label label;
	int64_t values[SAMPLES][TYPES];
	uint64_t stacks[SAMPLES][2];
	char *strings[STRINGS];
	Pprof__ValueType *type_list[TYPES];
	Pprof__Sample *sample_list[SAMPLES];
	Pprof__Location *location_list[LOCATIONS];
	Pprof__Line *line_list[2];
	Pprof__Function *function_list[2];
	Pprof__Mapping *mapping_list[1];
	Pprof__Label *label_list[1];
} m;

enum string {
	EMPTY,
	ALLOC_OBJECTS,
	COUNT,
	ALLOC_SPACE,
	BYTES,
	INUSE_OBJECTS,
	INUSE_SPACE,
	PROGRAM,
	BUILD_ID,
	SHORT_NAME,
	LINKER_NAME,
	INLINED,
	FILE_NAME,
	THREAD,
	MAIN_THREAD,
	CPU,
	KIND,
	CALLOC,
	SPACE,
};

static struct seep_profile *profile;
static struct seep_error err;

static void set_samples(void)
{
	static const int64_t values[SAMPLES][TYPES] = {
		{ 5, 500, 2, 200 },
		{ 7, 70, 0, 0 },
		{ 1, 100, 1, 100 },
	};
	static const uint64_t stacks[SAMPLES][2] = { { 70, 5 }, { 5, 9 }, { 70, 5 } };

	memcpy(m.values, values, sizeof(values));
	memcpy(m.stacks, stacks, sizeof(stacks));
	for (int i = 0; i < SAMPLES; i++) {
		pprof__sample__init(&m.samples[i]);
		m.samples[i].n_value = TYPES;
		m.samples[i].value = m.values[i];
		m.samples[i].n_location_id = 2;
		m.samples[i].location_id = m.stacks[i];
		m.sample_list[i] = &m.samples[i];
	}
}

/* Location 70 has a function inlined, 5 is one function, 9 has an address alone. */
static void set_locations(void)
{
	static const uint64_t ids[LOCATIONS] = { 70, 5, 9 };

	for (int i = 0; i < 2; i++) {
		pprof__line__init(&m.lines[i]);
		pprof__function__init(&m.functions[i]);
		m.functions[i].id = i ? 4 : 400;
		m.lines[i].function_id = m.functions[i].id;
		m.lines[i].line = 10 + i;
		m.functions[i].filename = FILE_NAME;
		m.line_list[i] = &m.lines[i];
		m.function_list[i] = &m.functions[i];
	}
	m.functions[0].name = INLINED;
	m.functions[1].name = SHORT_NAME;
	m.functions[1].system_name = LINKER_NAME;
	for (int i = 0; i < LOCATIONS; i++) {
		pprof__location__init(&m.locations[i]);
		m.locations[i].id = ids[i];
		m.locations[i].mapping_id = 3;
		m.locations[i].address = 0x401000 + (uint64_t)i;
		m.location_list[i] = &m.locations[i];
	}
	m.locations[0].n_line = 2;
	m.locations[0].line = m.line_list;
	m.locations[1].n_line = 1;
	m.locations[1].line = m.line_list + 1;
	pprof__mapping__init(&m.mapping);
	m.mapping = (Pprof__Mapping){ m.mapping.base,		.id = 3,
				      .memory_start = 0x401000, .memory_limit = 0x402000,
				      .file_offset = 0x1000,	.filename = PROGRAM,
				      .build_id = BUILD_ID };
	m.mapping_list[0] = &m.mapping;
}

static int setup(void **state)
{
	static const char *const strings[STRINGS] = {
		"",	   "alloc_objects", "count",	       "alloc_space",
		"bytes",   "inuse_objects", "inuse_space",     "/bin/program",
		"0aFF",	   "work::keep",    "_ZN4work4keepEi", "inlined",
		"file.cc", "thread",	    "main thread",     "cpu",
		"kind",	   "calloc",	    "space",
	};
	static const int64_t types[TYPES] = { ALLOC_OBJECTS, ALLOC_SPACE, INUSE_OBJECTS,
					      INUSE_SPACE };

	(void)state;
	for (int i = 0; i < STRINGS; i++)
		m.strings[i] = (char *)(uintptr_t)strings[i];
	for (int i = 0; i < TYPES; i++) {
		pprof__value_type__init(&m.types[i]);
		m.types[i].type = types[i];
		m.types[i].unit = i % 2 ? BYTES : COUNT;
		m.type_list[i] = &m.types[i];
	}
	set_samples();
	set_locations();
	pprof__label__init(&m.label);
	m.label_list[0] = &m.label;
	pprof__value_type__init(&m.period);
	m.period.type = SPACE;
	m.period.unit = BYTES;
	pprof__profile__init(&m.profile);
	m.profile = (Pprof__Profile){
		m.profile.base,
		TYPES,
		m.type_list,
		SAMPLES,
		m.sample_list,
		1,
		m.mapping_list,
		LOCATIONS,
		m.location_list,
		2,
		m.function_list,
		STRINGS,
		m.strings,
		.period = 524288,
		.period_type = &m.period,
	};
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	seep_profile_free(profile);
	profile = NULL;
	return 0;
}

static int import(void)
{
	const size_t bytes = pprof__profile__get_packed_size(&m.profile);
	uint8_t *packed = malloc(bytes);
	int r;

	(void)pprof__profile__pack(&m.profile, packed);
	seep_profile_free(profile);
	profile = NULL;
	r = seep_import(&seep_import_pprof, packed, bytes, &profile, &err);
	free(packed);
	return r;
}

static void good(void)
{
	if (import() != 0)
		fail_msg("%s", err.text);
}

static void bad(int code, const char *sentence)
{
	const int r = import();

	if (r != -code || !strstr(err.text, sentence))
		fail_msg("%d, %s, in place of %s", r, err.text, sentence);
	assert_null(profile);
	(void)setup(NULL);
}

static const struct seep_profile_context *context_of(uint64_t allocs)
{
	for (uint32_t i = 0; i < profile->context_count; i++)
		if (profile->contexts[i].allocs == allocs)
			return &profile->contexts[i];
	fail_msg("no context with so many allocations");
	return profile->contexts;
}

static const struct seep_profile_frame *frame(const struct seep_profile_context *context,
					      uint32_t i)
{
	assert_in_range(i, 0, context->stack_count - 1);
	/* No recursion is folded: it would be in the hash. */
	assert_int_equal(context->stack[i].period, 0);
	assert_int_equal(context->stack[i].repeats, 0);
	return &profile->frames[context->stack[i].frame];
}

TEST_WITH(setup, a_sample_is_a_context, teardown)
{
	good();
	assert_int_equal(profile->context_count, 3);
	assert_int_equal(context_of(5)->alloc_bytes, 500);
	assert_int_equal(context_of(5)->live_blocks, 2);
	assert_int_equal(context_of(5)->frees, 3);
	assert_int_equal(context_of(7)->live_bytes, 0);
	assert_int_equal(profile->totals.allocs, 13);
	assert_true(seep_profile_says(profile, "sampled"));
}

TEST_WITH(setup, names_are_those_of_the_linker_where_they_say_more, teardown)
{
	const struct seep_profile_context *context;

	good();
	context = context_of(5);
	assert_int_equal(context->stack_count, 3);
	assert_string_equal(frame(context, 0)->function, "inlined");
	assert_true(frame(context, 0)->inlined && !frame(context, 1)->inlined);
	assert_string_equal(frame(context, 1)->function, "work::keep(int)");
	assert_string_equal(frame(context, 1)->file, "file.cc");
	assert_int_equal(frame(context, 1)->line, 11);
	assert_string_equal(profile->process.exe, "/bin/program");
	assert_int_equal(profile->modules[0].build_id_bytes, 2);
	assert_memory_equal(profile->modules[0].build_id, "\x0a\xff", 2);
}

TEST_WITH(setup, what_has_no_name_is_to_be_looked_up, teardown)
{
	const struct seep_profile_frame *unnamed;

	good();
	unnamed = frame(context_of(7), 1);
	assert_null(unnamed->function);
	/* The place in the file behind the call. */
	assert_int_equal(unnamed->address, 0x1003);
	assert_int_equal(profile->modules[0].bias, 0x400000);
	assert_false(profile->symbolised);
	/* A line whose function has no name. */
	m.functions[1].name = m.functions[1].system_name = EMPTY;
	good();
	assert_int_equal(context_of(7)->stack_count, 2);
	assert_null(frame(context_of(7), 0)->function);
}

TEST_WITH(setup, threads_and_kinds_are_kept_apart, teardown)
{
	m.samples[2].n_label = 1;
	m.samples[2].label = m.label_list;
	m.label.key = THREAD;
	m.label.str = MAIN_THREAD;
	good();
	assert_int_equal(profile->context_count, 3);
	assert_string_equal(context_of(1)->thread, "main thread");
	assert_null(context_of(5)->thread);
	m.label.key = KIND;
	m.label.str = CALLOC;
	good();
	assert_int_equal(context_of(1)->kind, LEDGER_KIND_CALLOC);
	assert_int_equal(context_of(5)->kind, LEDGER_KIND_MALLOC);
}

TEST_WITH(setup, what_is_not_in_the_profile_is_not_known, teardown)
{
	m.types[1].type = m.types[0].type = CPU;
	good();
	assert_false(seep_profile_knows(profile, "allocs"));
	assert_int_equal(profile->totals.live_bytes, 300);
	(void)setup(NULL);
	m.types[2].type = m.types[3].type = CPU;
	good();
	assert_false(seep_profile_knows(profile, "live_bytes"));
	assert_true(seep_profile_knows(profile, "alloc_bytes"));
	m.types[1].type = CPU;
	bad(SEEP_EUNSUPPORTED, "no heap profile");
}

TEST_WITH(setup, references_and_values_are_checked, teardown)
{
	m.stacks[1][1] = 6;
	bad(SEEP_ECORRUPT, "the missing location 6");
	m.stacks[1][1] = 0;
	bad(SEEP_ECORRUPT, "the missing location 0");
	m.locations[2].id = 5;
	bad(SEEP_ECORRUPT, "two of its locations have the id 5");
	m.functions[0].id = 0;
	bad(SEEP_ECORRUPT, "a function has the id 0");
	m.locations[2].mapping_id = 4;
	bad(SEEP_ECORRUPT, "the missing mapping 4");
	m.lines[0].function_id = 77;
	bad(SEEP_ECORRUPT, "the missing function 77");
	m.functions[0].name = STRINGS;
	bad(SEEP_ECORRUPT, "string 19 is not in its table of 19");
	m.mapping.filename = -1;
	bad(SEEP_ECORRUPT, "string -1");
	m.values[1][2] = -1;
	bad(SEEP_ECORRUPT, "the negative value -1");
	m.samples[1].n_value = 3;
	bad(SEEP_ECORRUPT, "not that of sample types but 3");
	m.values[0][1] = m.values[1][1] = m.values[2][1] = INT64_MAX;
	bad(SEEP_ELIMIT, "over 2^64");
}

TEST_WITH(setup, lines_of_nonsense_are_unknown, teardown)
{
	m.lines[0].line = -5;
	m.lines[1].line = 1ll << 40;
	m.lines[0].function_id = 0;
	m.strings[BUILD_ID] = (char *)(uintptr_t) "zz/not+hex";
	m.locations[1].address = 0;
	good();
	assert_int_equal(context_of(5)->stack_count, 2);
	assert_string_equal(frame(context_of(5), 0)->function, "work::keep(int)");
	assert_int_equal(frame(context_of(5), 0)->line, 0);
	assert_int_equal(profile->modules[0].build_id_bytes, 0);
	assert_int_equal(frame(context_of(7), 0)->address, 0);
}

TEST_WITH(setup, a_damaged_message_is_refused, teardown)
{
	uint8_t packed[4096];
	const size_t bytes = pprof__profile__pack(&m.profile, packed);

	for (size_t cut = 1; cut < bytes; cut++)
		if (seep_import(&seep_import_pprof, packed, bytes - cut, &profile, &err) == 0)
			/* Between two fields at the end. */
			teardown(NULL);
	assert_int_equal(seep_import(&seep_import_pprof, packed, bytes - 1, &profile, &err),
			 -SEEP_ECORRUPT);
}

TEST_WITH(setup, a_message_that_unfolds_is_refused, teardown)
{
	/* A sample of two bytes takes a hundred in memory. */
	const size_t bytes = 4 << 20;
	uint8_t *packed = calloc(bytes, 1);

	for (size_t i = 0; i < bytes; i += 2)
		packed[i] = 2 << 3 | 2;
	assert_int_equal(seep_import(&seep_import_pprof, packed, bytes, &profile, &err),
			 -SEEP_ELIMIT);
	assert_non_null(strstr(err.text, "16 times"));
	free(packed);
}

TEST_WITH(setup, stacks_that_unfold_are_refused, teardown)
{
	enum { LINES = 60000, DEPTH = 60000 };
	Pprof__Line **lines = calloc(LINES, sizeof(Pprof__Line *));
	uint64_t *stack = calloc(DEPTH, sizeof(*stack));

	for (int i = 0; i < LINES; i++)
		lines[i] = &m.lines[0];
	for (int i = 0; i < DEPTH; i++)
		stack[i] = 70;
	m.locations[0].n_line = LINES;
	m.locations[0].line = lines;
	m.samples[0].n_location_id = DEPTH;
	m.samples[0].location_id = stack;
	bad(SEEP_ELIMIT, "frames together");
	free(stack);
	free(lines);
}

int main(void)
{
	/* What is not written shows. */
	(void)mallopt(M_PERTURB, 0x55);
	return unit_run(NULL, NULL);
}
