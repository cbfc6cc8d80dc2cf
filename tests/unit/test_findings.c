/* SPDX-License-Identifier: MIT */
/* Findings from the ledger to JSON and text, by way of a recording. */
#include "profile_case.h"

#include "analysis/keep.h"
#include "analysis/suppressions.h"
#include "profile/context_hash.h"
#include "profile/finding_name.h"
#include "profile/ledger_live.h"
#include "recording/recording.h"
#include "report/report.h"
#include "view/finding_text.h"

static uint32_t here, here_row;

static int setup_findings(void **state)
{
	(void)setup_simple(state);
	/* Allocated once, and freed by other code. */
	built_row_at(&ledger, simple_row)->allocs = 1;
	built_row_at(&ledger, simple_row)->alloc_bytes = 40;
	here = built_context(&ledger, built_node(&ledger, 0, 1, 0x5000), LEDGER_KIND_FREE);
	here_row = built_row(&ledger, here, 0);
	return 0;
}

#define FINDING_TEST(name) TEST_WITH(setup_findings, name, teardown)

/* A delete[] of what new allocated, unless it is changed. */
static struct ledger_finding *add(uint64_t at_ns)
{
	struct ledger_finding *finding =
		&ledger.findings[built_reserve(&ledger, LEDGER_TABLE_FINDINGS)];

	finding->kind = LEDGER_FINDING_MISMATCHED_FREE;
	finding->freeing = LEDGER_FREEING_DELETE_ARRAY;
	finding->family = LEDGER_FAMILY_NEW;
	finding->block_row = simple_row;
	finding->here_row = here_row;
	finding->tid = 7;
	finding->at_ns = at_ns;
	finding->pointer = 0x7fff0010;
	finding->block_bytes = 40;
	finding->count = 1;
	memcpy(finding->thread, "worker", sizeof("worker"));
	finding->ready = 1;
	return finding;
}

static const struct seep_profile_context *place_in(const struct seep_profile *in, uint32_t index)
{
	const struct seep_profile_context *context = seep_profile_context_at(in, index);

	if (!context)
		abort();
	return context;
}

static const struct seep_profile_context *place(uint32_t index)
{
	return place_in(profile, index);
}

FINDING_TEST(a_finding_names_its_stacks_though_one_has_no_figures)
{
	const struct seep_profile_finding *got;

	add(50);
	load();
	got = &profile->findings[0];
	assert_int_equal(profile->finding_count, 1);
	assert_int_equal(got->kind, LEDGER_FINDING_MISMATCHED_FREE);
	assert_int_equal(got->freeing, LEDGER_FREEING_DELETE_ARRAY);
	assert_int_equal(got->tid, 7);
	assert_string_equal(got->thread, "worker");
	assert_int_equal(got->pointer, 0x7fff0010);
	assert_int_equal(got->count, 1);
	assert_int_equal(got->freed, 0);
	assert_ptr_equal(place(got->block), context_of(simple));
	assert_ptr_equal(place(got->here), context_of(here));
	assert_int_equal(place(got->here)->stack_count, 1);
	assert_int_equal(place(got->here)->allocs, 0);
	assert_int_equal(profile->totals.allocs, 1);
	assert_null(unseen("findings-full"));
	assert_null(unseen(SEEP_UNSEEN_DAMAGED));
}

FINDING_TEST(the_same_by_the_same_stacks_is_one_with_the_first_ones_time)
{
	built_row_at(&ledger, simple_row)->allocs = 2;
	add(50)->count = 3;
	add(20)->here_row = built_row(&ledger, here, 1);
	add(30)->kind = LEDGER_FINDING_DOUBLE_FREE;
	add(60)->actual = 8;
	add(70)->ready = 0;
	load();
	assert_int_equal(profile->finding_count, 4);
	seep_profile_hash_contexts(profile);
	assert_int_equal(profile->finding_count, 2);
	assert_int_equal(profile->findings[0].count, 5);
	assert_int_equal(profile->findings[0].at_ns, 20);
	assert_int_equal(profile->findings[1].count, 1);
}

FINDING_TEST(a_hostile_finding_is_left_out_and_a_hostile_row_is_not_known)
{
	add(1)->kind = LEDGER_FINDING_COUNT;
	add(1)->kind = 0;
	add(1)->freeing = LEDGER_FREEING_COUNT;
	add(1)->family = LEDGER_FAMILY_POOL + 1;
	add(1)->count = UINT64_MAX;
	add(1)->count = 0;
	load();
	assert_int_equal(profile->finding_count, 0);
	assert_non_null(unseen(SEEP_UNSEEN_DAMAGED));
	ledger.state->table[LEDGER_TABLE_FINDINGS].reserved = 0;
	ledger.state->table[LEDGER_TABLE_FINDINGS].ready = 0;
	ledger.findings[0] = ledger.findings[1] = (struct ledger_finding){ 0 };
	add(1)->block_row = UINT32_MAX;
	ledger.findings[0].here_row = here_row + 1000;
	ledger.findings[0].freed_row = here_row + 1; /* reserved by nobody */
	memset(ledger.findings[0].thread, 'x', sizeof(ledger.findings[0].thread));
	load();
	assert_int_equal(profile->finding_count, 1);
	assert_int_equal(profile->findings[0].block, 0);
	assert_int_equal(profile->findings[0].here, 0);
	assert_int_equal(profile->findings[0].freed, 0);
	assert_int_equal(strlen(profile->findings[0].thread), 16);
}

FINDING_TEST(an_ancestors_block_has_no_stack)
{
	ledger.header->first_row = 1000;
	add(1)->block_row = 2;
	ledger.findings[0].here_row = here_row + 999;
	load();
	assert_int_equal(profile->findings[0].block, 0);
	assert_ptr_equal(place(profile->findings[0].here), context_of(here));
}

FINDING_TEST(figures_of_what_allocates_nothing_are_nobodys)
{
	add(1);
	built_row_at(&ledger, here_row)->allocs = 5;
	load();
	assert_int_equal(context_of(here)->allocs, 0);
	assert_int_equal(profile->totals.allocs, 6);
	assert_non_null(unseen(SEEP_UNSEEN_DAMAGED));
}

FINDING_TEST(lost_findings_are_told)
{
	ledger.state->findings_lost = 12;
	ledger.state->unseen = LEDGER_UNSEEN_FINDINGS_FULL;
	load();
	assert_non_null(strstr(unseen("findings-full"), "12 wrong frees"));
}

FINDING_TEST(a_running_process_adds_findings_and_counts)
{
	struct seep_ledger_live *live;
	struct seep_error err = { 0 };
	const struct seep_profile *seen;

	add(50);
	assert_int_equal(built_open_live(&ledger, &live, &err), 0);
	seen = seep_ledger_live_profile(live);
	assert_int_equal(seen->finding_count, 1);
	ledger.findings[0].count = 2;
	add(60)->kind = LEDGER_FINDING_DOUBLE_FREE;
	ledger.findings[1].freed_row = built_row(
		&ledger,
		built_context(&ledger, built_node(&ledger, 0, 1, 0x6000), LEDGER_KIND_FREE), 0);
	for (int i = 0; i < 3; i++)
		assert_int_equal(seep_ledger_live_refresh(live, &err), 0);
	assert_int_equal(seen->finding_count, 2);
	assert_int_equal(seen->findings[0].count, 2);
	assert_string_equal(seen->findings[0].thread, "worker");
	assert_int_equal(place_in(seen, seen->findings[1].freed)->stack_count, 1);
	assert_int_equal(seen->context_count, 3);
	seep_ledger_live_close(live);
}

FINDING_TEST(contexts_of_findings_stand_behind_the_others)
{
	const struct seep_profile_finding *got;
	uint64_t hash;

	add(50);
	load();
	seep_profile_hash_contexts(profile);
	hash = profile->findings[0].hash;
	/* As if it had been met first. */
	built_row_at(&ledger, here_row)->context_ready = 0;
	here_row = built_row(&ledger, here, 0);
	ledger.findings[0].here_row = here_row;
	load();
	seep_profile_hash_contexts(profile);
	seep_keep_allocations(profile);
	got = &profile->findings[0];
	assert_true(got->hash == hash && hash != 0);
	assert_int_equal(profile->context_count, 1);
	assert_int_equal(profile->left_out_count, 1);
	assert_int_equal(place(got->here)->kind, LEDGER_KIND_FREE);
	assert_int_equal(place(got->block)->kind, LEDGER_KIND_NEW);
}

FINDING_TEST(a_recording_has_them)
{
	char path[] = "/tmp/seep_findings_XXXXXX";
	struct seep_profile *again = NULL;
	struct seep_error err = { 0 };
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	(void)close(fd);
	add(50)->offset = -8;
	add(60)->kind = LEDGER_FINDING_UNKNOWN_FREE;
	ledger.findings[1].block_row = 0;
	ledger.findings[1].pointer = UINT64_MAX;
	load();
	seep_profile_hash_contexts(profile);
	profile->findings[1].suppressed_by = seep_profile_strdup(profile, "free:x");
	assert_int_equal(seep_recording_write(AT_FDCWD, path, profile, true, &err), 0);
	assert_int_equal(seep_recording_load(path, &again, &err), 0);
	assert_int_equal(again->finding_count, 2);
	for (uint32_t i = 0; i < 2; i++) {
		const struct seep_profile_finding *got = &again->findings[i];
		struct seep_profile_finding wanted = profile->findings[i];

		wanted.thread = got->thread;
		wanted.suppressed_by = got->suppressed_by;
		assert_string_equal(got->thread, "worker");
		assert_memory_equal(got, &wanted, sizeof(wanted));
	}
	assert_null(again->findings[0].suppressed_by);
	assert_string_equal(again->findings[1].suppressed_by, "free:x");
	seep_profile_free(again);
	profile->findings[0].here = 99;
	assert_int_equal(seep_recording_write(AT_FDCWD, path, profile, true, &err), -SEEP_ECORRUPT);
	(void)unlink(path);
}

static char *json_of(const struct seep_profile *of)
{
	const struct seep_view_options options = { .by = SEEP_BY_LIVE };
	char *text = NULL;
	size_t bytes = 0;
	FILE *out = open_memstream(&text, &bytes);

	assert_non_null(out);
	seep_report_json(out, of, &options, false);
	assert_int_equal(fclose(out), 0);
	return text;
}

FINDING_TEST(json_has_functions_and_frames_but_no_context_without_figures)
{
	char *text;

	add(50);
	load();
	seep_profile_hash_contexts(profile);
	seep_keep_allocations(profile);
	text = json_of(profile);
	assert_non_null(
		strstr(text, "\"kind\":\"mismatched-free\",\"text\":\"mismatched-free: memory from "
			     "new was freed by delete[]\",\"freeing\":\"delete[]\",\"hash\":"));
	assert_non_null(strstr(text, "\"count\":1,\"thread\":\"worker\",\"tid\":7,\"at_ns\":50,"
				     "\"pointer\":2147418128,\"expected\":\"delete\",\"actual\":"
				     "\"delete[]\",\"distance\":null,"
				     "\"block\":{\"size\":40,\"offset\":0},\"suppressed_by\":null,"
				     "\"alloc_frames\":["));
	assert_non_null(strstr(text, "\"free_frames\":null,\"here_frames\":[3]"));
	assert_null(strstr(text, "\"kind\":\"free\""));
	assert_null(strstr(text, "contexts-left-out"));
	free(text);
}

FINDING_TEST(each_kind_is_a_sentence)
{
	static const struct {
		struct seep_profile_finding finding;
		const char *text;
	} cases[] = {
#define F(kind_, freeing_, family_, ...)        \
	{ .kind = LEDGER_FINDING_##kind_,       \
	  .freeing = LEDGER_FREEING_##freeing_, \
	  .family = LEDGER_FAMILY_##family_,    \
	  .block_bytes = 40,                    \
                                                \
	  __VA_ARGS__ }
		{ F(MISMATCHED_FREE, DELETE, NEW_ARRAY, .count = 3),
		  "mismatched-free, 3 times: memory from new[] was freed by delete" },
		{ F(MISMATCHED_FREE, FREE, NEW_ALIGNED),
		  "mismatched-free: memory from aligned new was freed by free()" },
		{ F(MISMATCHED_FREE, DELETE, NEW_ARRAY, .offset = 8),
		  "mismatched-free: delete was given a place 8 bytes into a block from new[]: "
		  "delete[] was meant" },
		{ F(MISMATCHED_FREE, DELETE_ARRAY, NEW, .offset = -8),
		  "mismatched-free: delete[] was given a place 8 bytes before a block from new: "
		  "delete was meant" },
		{ F(MISMATCHED_FREE, DELETE, MEMALIGN, .offset = 16),
		  "mismatched-free: delete was given a place 16 bytes into a block from memalign: "
		  "free was meant" },
		{ F(SIZE_MISMATCH, DELETE, NEW, .expected = 40, .actual = 8),
		  "size-mismatch: delete was given 8 bytes of a block of 40" },
		{ F(ALIGN_MISMATCH, DELETE_ALIGNED, NEW_ALIGNED, .expected = 64, .actual = 32),
		  "align-mismatch: aligned delete was given alignment 32 of a block with 64" },
		{ F(DOUBLE_FREE, REALLOC, MALLOC),
		  "double-free: realloc() was given a block of 40 bytes that was freed before" },
		{ F(UNKNOWN_FREE, FREE, MALLOC, .pointer = 0x7ffc10),
		  "unknown-free: free() was given 0x7ffc10, which is no block" },
		{ F(INTERIOR_FREE, FREE, MALLOC, .offset = 1),
		  "interior-free: free() was given a pointer 1 byte into a block of 40" },
		{ F(REAR_GUARD, FREE, MALLOC, .offset = 40),
		  "rear-guard: memory was written right behind a block of 40 bytes" },
		{ F(FRONT_GUARD, NONE, MALLOC, .offset = -3),
		  "front-guard: memory was written 3 bytes in front of a block of 40 bytes" },
		{ F(USE_AFTER_FREE, NONE, MALLOC, .offset = 4),
		  "use-after-free: memory was written 4 bytes into a block of 40 that was freed" },
		{ F(USE_AFTER_FREE, NONE, MALLOC, .offset = 4, .here = 1),
		  "use-after-free: memory was read or written 4 bytes into a block of 40 that was "
		  "freed" },
		{ F(OUT_OF_BOUNDS, NONE, MALLOC, .offset = 43),
		  "out-of-bounds: memory was read or written 3 bytes behind a block of 40 bytes" },
		{ F(COUNT, COUNT, MALLOC), "unknown: a newer seep says what it is" },
#undef F
	};

	load();
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char *text = seep_finding_text(profile, &cases[i].finding);

		assert_string_equal(text, cases[i].text);
		free(text);
	}
	free(seep_finding_text(profile,
			       &(struct seep_profile_finding){ .kind = LEDGER_FINDING_OUT_OF_BOUNDS,
							       .offset = INT64_MAX,
							       .block_bytes = UINT64_MAX }));
}

FINDING_TEST(the_report_begins_with_them)
{
	struct seep_printer printer = { .width = 80 };
	const struct seep_view_options options = { .by = SEEP_BY_LIVE };
	struct seep_sites *sites;
	char *text = NULL;
	size_t bytes = 0;

	add(50)->count = 3;
	add(60)->kind = LEDGER_FINDING_DOUBLE_FREE;
	ledger.findings[1].freed_row = here_row;
	load();
	profile->findings[0].thread = seep_profile_strdup(profile, "a\033b");
	seep_profile_hash_contexts(profile);
	seep_keep_allocations(profile);
	sites = seep_sites_new(profile);
	printer.out = open_memstream(&text, &bytes);
	seep_report_stacks(&printer, sites, &options);
	assert_int_equal(fclose(printer.out), 0);
	assert_non_null(
		strstr(text, "\n\n2 heap errors: 1 mismatched-free, 1 double-free; the worst:"));
	assert_non_null(strstr(text, "\nHeap errors: 2 of 2\n\n  1. mismatched-free, 3 times: "
				     "memory from new was freed by delete[], thread\n     a\\x1bb\n"
				     "     freed by:\n       prog + 0x5000\n"
				     "     allocated by:\n       prog + 0x3000\n"));
	assert_non_null(strstr(text, "     freed before by:\n       prog + 0x5000\n"
				     "     allocated by:\n       prog + 0x3000\n"));
	free(text);
	profile->findings[0].suppressed_by = seep_profile_strdup(profile, "free:*");
	assert_int_equal(seep_findings_count(profile), 1);
	seep_sites_free(sites);
}
