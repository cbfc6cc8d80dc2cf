/* SPDX-License-Identifier: MIT */
/* Joining profiles by hash, and what is held between marks. */
#include "analysis/diff.h"
#include "profile/verdict.h"
#include "unit.h"

#include <string.h>

static struct seep_profile_context *add(struct seep_profile *profile, uint64_t hash,
					uint64_t blocks, uint64_t bytes)
{
	struct seep_profile_context *context = seep_profile_add(profile, SEEP_ARRAY_CONTEXTS);

	context->id = profile->context_count;
	context->hash = hash;
	context->allocs = context->live_blocks = blocks;
	context->alloc_bytes = context->live_bytes = bytes;
	return context;
}

static const struct seep_diff_row *find(const struct seep_diff *diff, uint64_t key)
{
	for (uint32_t i = 0; i < diff->count; i++)
		if (diff->rows[i].key == key)
			return &diff->rows[i];
	return NULL;
}

TEST(contexts_of_one_hash_are_summed)
{
	struct seep_profile *before = seep_profile_new(), *after = seep_profile_new();
	struct seep_diff *diff;
	const struct seep_diff_row *row;

	add(before, 7, 1, 10);
	add(before, 7, 2, 30);
	add(before, 8, 1, 5);
	add(after, 9, 4, 400);
	add(after, 7, 1, 60);
	add(after, 8, 1, 5);
	add(after, 7, 1, 1);
	diff = seep_diff_new(before, after, SEEP_BY_LIVE);
	assert_int_equal(diff->count, 2);
	assert_int_equal(diff->rows[0].key, 9);
	assert_int_equal(diff->rows[0].verdict, SEEP_DIFF_NEW);
	assert_int_equal(diff->rows[0].context[0], 0);
	assert_int_equal(diff->rows[0].context[1], 1);
	row = &diff->rows[1];
	assert_int_equal(row->verdict, SEEP_DIFF_GROWN);
	assert_int_equal(row->counts[0].live_bytes, 40);
	assert_int_equal(row->counts[1].live_bytes, 61);
	assert_int_equal(row->counts[1].live_blocks, 2);
	/* Those with most of it. */
	assert_int_equal(row->context[0], 2);
	assert_int_equal(row->context[1], 2);
	assert_int_equal(diff->counts[0].live_bytes, 45);
	assert_int_equal(diff->counts[1].live_bytes, 466);
	seep_diff_free(diff);
	seep_profile_free(before);
	seep_profile_free(after);
}

/* A leak of the context that is added with it. @root: of LOST-WITH, the number of its leak. */
static struct seep_profile_leak *add_leak(struct seep_profile *profile, uint64_t hash,
					  uint8_t verdict, uint64_t bytes, uint32_t root)
{
	struct seep_profile_leak *leak;

	add(profile, hash, 1, bytes);
	if (!profile->leaks)
		profile->leaks = seep_profile_calloc(profile, 10, sizeof(*profile->leaks));
	leak = &profile->leaks[profile->leak_count++];
	*leak = (struct seep_profile_leak){ .verdict = verdict,
					    .hash = hash,
					    .context = profile->context_count,
					    .blocks = 1,
					    .bytes = bytes,
					    .root = root };
	if (root > 0) {
		profile->leaks[root - 1].with_blocks++;
		profile->leaks[root - 1].with_bytes += bytes;
	}
	return leak;
}

static void expect_leak(const struct seep_diff *leaks, uint64_t hash,
			enum seep_diff_verdict verdict, int64_t before, int64_t after)
{
	static const struct seep_diff_row none;
	const struct seep_diff_row *row = find(leaks, hash);

	if (!row)
		row = &none;
	assert_int_equal(row->verdict, verdict);
	assert_int_equal(row->counts[0].live_bytes, before);
	assert_int_equal(row->counts[1].live_bytes, after);
	assert_true(row->context[0] > 0 || row->context[1] > 0);
}

TEST(leaks_are_compared_whatever_the_totals_do)
{
	struct seep_profile *before = seep_profile_new(), *after = seep_profile_new();
	struct seep_diff *diff = seep_diff_new(before, after, SEEP_BY_LIVE);

	/* Nobody looked. */
	assert_null(diff->leaks);
	seep_diff_free(diff);
	before->scan.done = after->scan.done = true;
	(void)add_leak(before, 1, SEEP_VERDICT_LOST, 5000, 0);
	(void)add_leak(before, 2, SEEP_VERDICT_LOST, 10, 0);
	(void)add_leak(before, 3, SEEP_VERDICT_LOST_CYCLE, 10, 0);
	(void)add_leak(before, 3, SEEP_VERDICT_LOST_WITH, 7, 3);
	(void)add_leak(before, 9, SEEP_VERDICT_MAYBE_LOST, 70, 0);
	(void)add_leak(after, 2, SEEP_VERDICT_LOST, 20, 0);
	(void)add_leak(after, 2, SEEP_VERDICT_LOST, 10, 0);
	(void)add_leak(after, 4, SEEP_VERDICT_LOST, 40, 0);
	add_leak(after, 3, SEEP_VERDICT_LOST_CYCLE, 17, 0)->blocks = 2;
	(void)add_leak(after, 8, SEEP_VERDICT_SUPPRESSED, 80, 0);
	/* Without a hash, its call stack is another process's. */
	add_leak(after, 0, SEEP_VERDICT_LOST, 90, 0)->context = 0;
	diff = seep_diff_new(before, after, SEEP_BY_ALLOCS);
	assert_int_equal(diff->leaks->count, 3);
	assert_int_equal(diff->leaks->same_count, 1);
	assert_int_equal(diff->leaks->rows[0].key, 1);
	expect_leak(diff->leaks, 1, SEEP_DIFF_GONE, 5000, 0);
	expect_leak(diff->leaks, 2, SEEP_DIFF_GROWN, 10, 30);
	expect_leak(diff->leaks, 4, SEEP_DIFF_NEW, 0, 40);
	seep_diff_free(diff);
	seep_profile_free(before);
	seep_profile_free(after);
}

TEST(which_of_two_lost_blocks_leads_to_the_other_is_no_change)
{
	struct seep_profile *before = seep_profile_new(), *after = seep_profile_new();
	struct seep_diff *diff;

	before->scan.done = after->scan.done = true;
	(void)add_leak(before, 1, SEEP_VERDICT_LOST, 100, 0);
	(void)add_leak(before, 2, SEEP_VERDICT_LOST_WITH, 30, 1);
	(void)add_leak(after, 2, SEEP_VERDICT_LOST, 30, 0);
	(void)add_leak(after, 1, SEEP_VERDICT_LOST_WITH, 100, 1);
	diff = seep_diff_new(before, after, SEEP_BY_LIVE);
	assert_int_equal(diff->leaks->count, 0);
	assert_int_equal(diff->leaks->same_count, 1);
	seep_diff_free(diff);
	/* And what is more of it is one. */
	after->leaks[0].with_bytes = 1000;
	diff = seep_diff_new(before, after, SEEP_BY_LIVE);
	assert_int_equal(diff->leaks->count, 1);
	expect_leak(diff->leaks, 2, SEEP_DIFF_GROWN, 130, 1030);
	seep_diff_free(diff);
	seep_profile_free(before);
	seep_profile_free(after);
}

TEST(each_change_has_its_verdict)
{
	static const struct {
		uint64_t before[2], after[2]; /* blocks, bytes */
		enum seep_diff_verdict verdict;
	} cases[] = {
		{ { 0, 0 }, { 1, 8 }, SEEP_DIFF_NEW },	  { { 0, 0 }, { 1, 0 }, SEEP_DIFF_NEW },
		{ { 1, 8 }, { 0, 0 }, SEEP_DIFF_GONE },	  { { 1, 0 }, { 0, 0 }, SEEP_DIFF_GONE },
		{ { 1, 8 }, { 1, 9 }, SEEP_DIFF_GROWN },  { { 1, 8 }, { 2, 8 }, SEEP_DIFF_GROWN },
		{ { 1, 8 }, { 2, 7 }, SEEP_DIFF_SHRUNK }, { { 2, 8 }, { 1, 8 }, SEEP_DIFF_SHRUNK },
		{ { 2, 8 }, { 2, 8 }, SEEP_DIFF_SAME },	  { { 0, 0 }, { 0, 0 }, SEEP_DIFF_SAME },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct seep_profile *before = seep_profile_new(), *after = seep_profile_new();
		struct seep_diff *diff;

		add(before, 1, cases[i].before[0], cases[i].before[1]);
		add(after, 1, cases[i].after[0], cases[i].after[1]);
		diff = seep_diff_new(before, after, SEEP_BY_LIVE);
		assert_int_equal(diff->count, cases[i].verdict != SEEP_DIFF_SAME);
		if (diff->count)
			assert_int_equal(diff->rows[0].verdict, cases[i].verdict);
		seep_diff_free(diff);
		seep_profile_free(before);
		seep_profile_free(after);
	}
}

TEST(the_largest_change_comes_first_whatever_its_sign)
{
	struct seep_profile *before = seep_profile_new(), *after = seep_profile_new();
	static const uint64_t wanted[] = { 2, 4, 3, 1, 5 };
	struct seep_diff *diff;

	add(after, 1, 1, 10);
	add(before, 2, 1, 500);
	add(after, 4, 3, 200);
	add(after, 3, 1, 200);
	add(after, 5, 1, 10);
	diff = seep_diff_new(before, after, SEEP_BY_LIVE);
	assert_int_equal(diff->count, 5);
	for (uint32_t i = 0; i < 5; i++)
		assert_int_equal(diff->rows[i].key, wanted[i]);
	seep_diff_free(diff);
	diff = seep_diff_new(after, before, SEEP_BY_ALLOCS);
	assert_int_equal(diff->rows[0].key, 4);
	assert_int_equal(seep_diff_change(diff, diff->rows[0].counts), -3);
	seep_diff_free(diff);
	seep_profile_free(before);
	seep_profile_free(after);
}

TEST(empty_profiles_have_no_changes)
{
	struct seep_profile *empty = seep_profile_new(), *some = seep_profile_new();
	struct seep_diff *diff = seep_diff_new(empty, empty, SEEP_BY_LIVE);

	assert_int_equal(diff->count, 0);
	seep_diff_free(diff);
	add(some, 0, 1, 1);
	diff = seep_diff_new(empty, some, SEEP_BY_PEAK);
	assert_int_equal(diff->count, 0);
	seep_diff_free(diff);
	diff = seep_diff_new(some, empty, SEEP_BY_LIVE);
	assert_int_equal(diff->rows[0].verdict, SEEP_DIFF_GONE);
	seep_diff_free(diff);
	seep_diff_free(NULL);
	seep_profile_free(empty);
	seep_profile_free(some);
}

TEST(figures_beyond_63_bits_stay_the_largest)
{
	struct seep_profile *before = seep_profile_new(), *after = seep_profile_new();
	struct seep_diff *diff;

	add(before, 1, UINT64_MAX, UINT64_MAX);
	add(before, 1, UINT64_MAX, UINT64_MAX);
	add(after, 2, UINT64_MAX, UINT64_MAX);
	add(after, 2, 1, 1);
	add(after, 1, 0, 0);
	diff = seep_diff_new(before, after, SEEP_BY_LIVE);
	assert_int_equal(diff->count, 2);
	assert_int_equal(seep_diff_change(diff, find(diff, 1)->counts), -INT64_MAX);
	assert_int_equal(seep_diff_change(diff, find(diff, 2)->counts), INT64_MAX);
	assert_int_equal(diff->counts[1].live_bytes, INT64_MAX);
	seep_diff_free(diff);
	seep_profile_free(before);
	seep_profile_free(after);
}

/* Contexts that differ in kind, so that each is a group of its own. */
static struct seep_profile *profile_with_epochs(void)
{
	static const struct seep_profile_epoch first[] = {
		{ 0, 5, 50 }, { 1, 1, 10 }, { 2, 1, 20 }, { 4, 9, 90 }
	};
	static const struct seep_profile_epoch second[] = { { 2, 3, 300 },
							    { 3, UINT64_MAX, UINT64_MAX } };
	struct seep_profile *profile = seep_profile_new();
	struct seep_profile_context *context = add(profile, 1, 16, 170);

	context->epochs = (struct seep_profile_epoch *)first;
	context->epoch_count = 4;
	context = add(profile, 2, UINT64_MAX, UINT64_MAX);
	context->kind = LEDGER_KIND_NEW;
	context->epochs = (struct seep_profile_epoch *)second;
	context->epoch_count = 2;
	context = add(profile, 3, 4, 40);
	context->kind = LEDGER_KIND_CALLOC;
	context->no_stack = true;
	return profile;
}

static struct seep_diff *held(const struct seep_profile *profile, const struct seep_epochs *rounds,
			      uint32_t count, struct seep_sites **sites,
			      struct seep_groups **groups)
{
	*sites = seep_sites_new(profile);
	*groups = seep_groups_new(*sites, true, false);
	return seep_diff_held(profile, *groups, rounds, count);
}

TEST(what_is_held_comes_from_epochs)
{
	static const struct {
		struct seep_epochs between;
		uint32_t count;
		int64_t blocks, bytes; /* together */
	} cases[] = {
		{ { 1, 2 }, 1, 1, 10 },		 { { 1, 3 }, 2, 5, 330 },
		{ { 2, 3 }, 2, 4, 320 },	 { { 5, UINT32_MAX }, 0, 0, 0 },
		{ { 2, 2 }, 0, 0, 0 },		 { { 0, 1 }, 1, 5, 50 },
		{ { 4, UINT32_MAX }, 1, 9, 90 }, { { 3, 4 }, 1, INT64_MAX, INT64_MAX },
	};
	struct seep_profile *profile = profile_with_epochs();
	struct seep_groups *groups;
	struct seep_sites *sites;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct seep_diff *diff = held(profile, &cases[i].between, 1, &sites, &groups);

		assert_int_equal(diff->count, cases[i].count);
		assert_int_equal(diff->counts[1].live_blocks, cases[i].blocks);
		assert_int_equal(diff->counts[1].live_bytes, cases[i].bytes);
		assert_int_equal(diff->undated_blocks, 4);
		for (uint32_t r = 0; r < diff->count; r++)
			assert_int_equal(diff->rows[r].verdict, SEEP_DIFF_HELD);
		seep_diff_free(diff);
		seep_groups_free(groups);
		seep_sites_free(sites);
	}
	seep_profile_free(profile);
}

TEST(of_rounds_only_what_each_left_is_kept)
{
	static const struct seep_epochs rounds[] = { { 1, 2 }, { 2, 3 }, { 4, 5 } };
	struct seep_profile *profile = profile_with_epochs();
	struct seep_groups *groups;
	struct seep_sites *sites;
	struct seep_diff *diff = held(profile, rounds, 3, &sites, &groups);

	assert_int_equal(diff->count, 1);
	assert_int_equal(diff->rows[0].rounds[0].blocks, 1);
	assert_int_equal(diff->rows[0].rounds[1].bytes, 20);
	assert_int_equal(diff->rows[0].rounds[2].blocks, 9);
	assert_int_equal(diff->counts[1].live_bytes, 120);
	assert_int_equal(diff->partial_count, 1);
	assert_int_equal(diff->partial.live_bytes, 300);
	seep_diff_free(diff);
	seep_groups_free(groups);
	seep_sites_free(sites);
	seep_profile_free(profile);
}

TEST(blocks_are_listed_by_their_rows)
{
	static const struct scan_block blocks[] = {
		{ .address = 0x10, .size = 1, .row = 5 },   /* an ancestor's */
		{ .address = 0x20, .size = 10, .row = 11 }, /* epoch 1 */
		{ .address = 0x30, .size = 50, .row = 10 }, /* epoch 0 */
		{ .address = 0x40, .size = 20, .row = 12 }, /* epoch 2 */
		{ .address = 0x50, .size = 21, .row = 12 },
		{ .address = 0x60, .size = 30, .row = 13 },
		{ .address = 0x70, .size = 1, .row = 14 }, /* nothing was counted */
		{ .address = 0x80, .size = 1, .row = 15 }, /* no such row */
	};
	static struct seep_profile_row rows[] = {
		{ 1, 0, 0 }, { 1, 1, 0 }, { 1, 2, 0 }, { 2, 2, 0 }, { 0, 2, 0 }
	};
	static const struct seep_epochs between = { 1, 3 };
	struct seep_profile *profile = profile_with_epochs();
	struct seep_groups *groups;
	struct seep_sites *sites;
	struct seep_diff *diff = held(profile, &between, 1, &sites, &groups);

	profile->rows = rows;
	profile->row_count = 5;
	profile->first_row = 10;
	seep_diff_list_blocks(diff, blocks, sizeof(blocks) / sizeof(blocks[0]), 2);
	assert_int_equal(diff->count, 2);
	assert_int_equal(diff->rows[0].block_count, 1);
	assert_int_equal(diff->rows[0].blocks[0].address, 0x60);
	assert_int_equal(diff->rows[1].block_count, 2);
	assert_int_equal(diff->rows[1].blocks[0].address, 0x20);
	assert_int_equal(diff->rows[1].blocks[1].size, 20);
	profile->row_count = 0;
	seep_diff_free(diff);
	seep_groups_free(groups);
	seep_sites_free(sites);
	seep_profile_free(profile);
}
