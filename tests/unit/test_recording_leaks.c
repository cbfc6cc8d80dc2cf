/* SPDX-License-Identifier: MIT */
/* Leaks and the scan that found them come back from recordings; what makes no sense is refused. */
#include "recording_case.h"
#include "sample_leaks.h"

static int setup_leaks(void **state)
{
	(void)state;
	memset(&err, 0, sizeof(err));
	loaded = NULL;
	profile = sample_profile_with_leaks();
	profile->timeline[1].live_bytes = INT64_MAX; /* as much as a recording takes */
	return 0;
}

static void assert_same_blocks(const struct seep_profile_leak *got,
			       const struct seep_profile_leak *wanted)
{
	assert_int_equal(got->block_list_count, wanted->block_list_count);
	for (uint32_t i = 0; i < got->block_list_count; i++) {
		const struct seep_profile_leak_block *a = &got->block_list[i];
		const struct seep_profile_leak_block *b = &wanted->block_list[i];

		assert_true(a->address == b->address);
		assert_true(a->size == b->size);
		assert_int_equal(a->content_bytes, b->content_bytes);
		if (b->contents)
			assert_memory_equal(a->contents, b->contents, b->content_bytes);
		else
			assert_null(a->contents);
	}
}

static void assert_same_chain(const struct seep_profile_leak *got,
			      const struct seep_profile_leak *wanted)
{
	assert_int_equal(got->chain_count, wanted->chain_count);
	for (uint32_t i = 0; i < got->chain_count; i++) {
		assert_text(got->chain[i].from, wanted->chain[i].from);
		assert_text(got->chain[i].name, wanted->chain[i].name);
		assert_true(got->chain[i].address == wanted->chain[i].address);
		assert_true(got->chain[i].offset == wanted->chain[i].offset);
	}
}

#define RECORDING_LEAKS_TEST(name) TEST_WITH(setup_leaks, name, teardown)

RECORDING_LEAKS_TEST(every_leak_comes_back)
{
	round_trip();
	assert_int_equal(loaded->leak_count, SAMPLE_LEAKS);
	for (uint32_t i = 0; i < SAMPLE_LEAKS; i++) {
		const struct seep_profile_leak *got = &loaded->leaks[i];
		const struct seep_profile_leak *wanted = &profile->leaks[i];

		assert_int_equal(got->verdict, wanted->verdict);
		assert_int_equal(got->flags, wanted->flags);
		assert_true(got->hash == wanted->hash);
		assert_int_equal(got->context, wanted->context);
		assert_int_equal(got->root, wanted->root);
		assert_memory_equal(&got->blocks, &wanted->blocks, 4 * sizeof(uint64_t));
		assert_text(got->rule, wanted->rule);
		assert_text(got->evidence, wanted->evidence);
		assert_text(got->suppressed_by, wanted->suppressed_by);
		assert_same_chain(got, wanted);
		assert_same_blocks(got, wanted);
	}
	assert_string_equal(seep_verdict_name(loaded->leaks[SAMPLE_LEAKS - 1].verdict), "unknown");
}

RECORDING_LEAKS_TEST(leaks_find_their_contexts_though_ids_have_gaps)
{
	for (uint32_t i = 0; i < profile->context_count; i++)
		profile->contexts[i].id = 10 * i * i + 7;
	round_trip();
	for (uint32_t i = 0; i < SAMPLE_LEAKS; i++)
		assert_int_equal(loaded->leaks[i].context, profile->leaks[i].context);
}

RECORDING_LEAKS_TEST(the_scan_comes_back)
{
	const struct seep_profile_scan *wanted = &profile->scan;
	const struct seep_profile_scan *got;

	round_trip();
	got = &loaded->scan;
	assert_true(got->done);
	assert_text(got->method, wanted->method);
	assert_text(got->why_not, wanted->why_not);
	assert_memory_equal(&got->at_ns, &wanted->at_ns, 5 * sizeof(uint64_t));
	assert_int_equal(got->skipped_count, 2);
	for (uint32_t i = 0; i < 2; i++) {
		assert_true(got->skipped[i].from == wanted->skipped[i].from);
		assert_true(got->skipped[i].to == wanted->skipped[i].to);
		assert_text(got->skipped[i].reason, wanted->skipped[i].reason);
	}
	assert_int_equal(got->caveat_count, 2);
	assert_text(got->caveats[0], wanted->caveats[0]);
	assert_text(got->caveats[1], wanted->caveats[1]);
	assert_int_equal(got->suppression_count, 3);
	for (uint32_t i = 0; i < 3; i++) {
		assert_text(got->suppressions[i].text, wanted->suppressions[i].text);
		assert_text(got->suppressions[i].file, wanted->suppressions[i].file);
		assert_memory_equal(&got->suppressions[i].leaks, &wanted->suppressions[i].leaks,
				    3 * sizeof(uint64_t));
	}
}

RECORDING_LEAKS_TEST(a_scan_that_was_not_made_says_why)
{
	profile->leak_count = 0;
	profile->scan = (struct seep_profile_scan){
		.why_not = seep_profile_strdup(profile, "it was killed by SIGSEGV"),
	};
	round_trip();
	assert_false(loaded->scan.done);
	assert_null(loaded->scan.method);
	assert_text(loaded->scan.why_not, "it was killed by SIGSEGV");
	assert_int_equal(loaded->leak_count, 0);
}

static int match(void *wanted, int columns, char **values, char **names)
{
	const char ***next = wanted;

	(void)columns;
	(void)names;
	assert_text(values[0], **next);
	++*next;
	return 0;
}

/* All values of the first column are those in @wanted. */
static void assert_query(const char *sql, const char **wanted)
{
	struct sqlite3 *db = NULL;

	assert_int_equal(seep_recording_open_database(path, &db, NULL, &err), 0);
	assert_int_equal(sqlite3_exec(db, sql, match, &wanted, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_close(db), SQLITE_OK);
	assert_null(*wanted);
}

RECORDING_LEAKS_TEST(the_view_answers_with_names)
{
	static const char *lost[] = { "LOST", "LOST", "LOST-CYCLE", "LOST-WITH", NULL };
	static const char *functions[] = { "operator new(unsigned long)",
					   "app::(anonymous namespace)::worker(void*)", NULL };
	static const char *stack[] = {
		"app::(anonymous namespace)::worker(void*) < start_thread < clone3", NULL
	};
	static const char *of_root[] = { "5000", NULL };
	static const char *newer[] = { "unknown", NULL };
	static const char *contents[] = { "00FF68691B", "00", NULL };

	round_trip();
	assert_query("SELECT verdict FROM leaks WHERE is_leak", lost);
	assert_query("SELECT function FROM leaks WHERE verdict = 'LOST'", functions);
	assert_query("SELECT stack FROM leaks WHERE id = 2", stack);
	assert_query("SELECT bytes FROM leaks WHERE root = 1", of_root);
	assert_query("SELECT verdict FROM leaks WHERE bytes = 8", newer);
	assert_query("SELECT hex(contents) FROM leak_block WHERE contents NOT NULL", contents);
}

RECORDING_LEAKS_TEST(references_that_lead_nowhere_are_refused)
{
	static const char *const cases[] = {
		"UPDATE leak SET context = 99 WHERE id = 1",
		"UPDATE leak SET context = -1 WHERE id = 1",
		"UPDATE leak SET context = 4294967297 WHERE id = 1",
		"UPDATE leak SET root = 13 WHERE id = 4",
		"UPDATE leak SET root = -1 WHERE id = 4",
		"UPDATE leak SET root = 4 WHERE id = 4",
		"UPDATE leak SET root = 2 WHERE id = 1",
		"UPDATE leak SET id = 14 WHERE id = 12",
		"DELETE FROM leak WHERE id = 5",
		"DELETE FROM leak WHERE id = 12; UPDATE leak_block SET leak = 12 WHERE leak = 2",
		"UPDATE leak_block SET leak = 0 WHERE leak = 2",
		"UPDATE leak_block SET leak = -1 WHERE leak = 2",
		"UPDATE leak_block SET leak = 4294967297 WHERE leak = 2",
		"UPDATE leak_link SET leak = 13 WHERE leak = 5",
		"UPDATE leak_link SET leak = 0 WHERE leak = 5",
		"UPDATE leak SET bytes = -1 WHERE id = 1",
		"UPDATE leak SET with_blocks = -1 WHERE id = 1",
		"UPDATE leak SET bytes = 9223372036854775807",
		"UPDATE leak SET with_bytes = 9223372036854775807",
		"UPDATE leak_block SET size = -1 WHERE leak = 1",
		"UPDATE suppression SET leaks = -1",
		"UPDATE scan SET marked_bytes = -1",
		"UPDATE scan SET done = 0",
		"DELETE FROM scan",
		"INSERT INTO scan SELECT 2, done, method, why_not, at_ns, pause_ns, mark_ns,"
		" marked_bytes, blocks FROM scan",
		"DROP TABLE scan",
		"DROP TABLE leak_link",
		"DROP VIEW leaks; DROP TABLE leak; CREATE VIEW leak AS SELECT 1 AS id",
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		int r;

		assert_int_equal(seep_recording_write(AT_FDCWD, path, profile, true, &err), 0);
		damage(cases[i]);
		r = load_again();
		if (r != -SEEP_ECORRUPT && r != -SEEP_ELIMIT)
			fail_msg("accepted: %s", cases[i]);
	}
}

RECORDING_LEAKS_TEST(contents_may_be_long)
{
	round_trip();
	damage("UPDATE leak_block SET contents = zeroblob(1000000) WHERE leak = 1 AND position = 1");
	assert_int_equal(load_again(), 0);
	assert_int_equal(loaded->leaks[0].block_list[1].content_bytes, 1000000);
	assert_int_equal(loaded->leaks[0].block_list[1].contents[999999], 0);
}

RECORDING_LEAKS_TEST(flipped_bytes_do_no_harm)
{
	flip_bytes();
}

#undef TEST
