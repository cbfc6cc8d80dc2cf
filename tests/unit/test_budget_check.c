/* SPDX-License-Identifier: MIT */
/* What budgets count in a profile, what breaks them, and what cannot be known. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/budget_check.h"
#include "ledger/finding.h"
#include "profile/verdict.h"
#include "sample_leaks.h"
#include "unit.h"

static struct seep_budget_side side;
static struct seep_baseline baseline;
static struct seep_budget_plan plan;
static struct seep_budgets budgets;

static int begin(void **state)
{
	(void)state;
	side.profile = sample_profile_with_leaks();
	side.profile->growth_after_ns = 60000000000;
	side.profile->totals.peak_error_bytes = 0;
	side.sites = seep_sites_new(side.profile);
	plan = (struct seep_budget_plan){ .baseline = &baseline };
	return 0;
}

static int end(void **state)
{
	(void)state;
	seep_budget_side_done(&side);
	seep_baseline_done(&baseline);
	seep_budgets_done(&budgets);
	return 0;
}

static struct seep_budget_outcome check(const char *text)
{
	struct seep_error err = { 0 };

	seep_budgets_done(&budgets);
	if (seep_budgets_add(&budgets, text, &err) != 0)
		fail_msg("%s", err.text);
	return seep_budget_check(&budgets.items[0], &side, &plan);
}

static uint64_t value_of(const char *text)
{
	struct seep_budget_outcome outcome = check(text);

	seep_budget_outcome_done(&outcome);
	return outcome.value;
}

/* @why: a part of the reason of NOT_KNOWN. */
static void expect(const char *text, enum seep_budget_result result, const char *why)
{
	struct seep_budget_outcome outcome = check(text);

	if (outcome.result != result || (why && !strstr(outcome.why.text, why)))
		fail_msg("%s is %d: %s", text, outcome.result, outcome.why.text);
	assert_int_equal(outcome.why.code != 0, result == SEEP_BUDGET_NOT_KNOWN);
	seep_budget_outcome_done(&outcome);
}

/* So that names that were changed are found. */
static void find_sites(void)
{
	seep_sites_free(side.sites);
	side.sites = seep_sites_new(side.profile);
}

static struct seep_profile *add_baseline(struct seep_profile *profile)
{
	seep_baseline_take(&baseline,
			   (struct seep_budget_side){ profile, seep_sites_new(profile) });
	return profile;
}

#define BUDGET_CHECK_TEST(name) TEST_WITH(begin, name, end)

BUDGET_CHECK_TEST(figures_of_the_process_are_its_totals)
{
	const struct seep_profile_totals *totals = &side.profile->totals;

	assert_int_equal(value_of("peak<=0"), totals->peak_bytes);
	assert_int_equal(value_of("live<=0"), totals->live_bytes);
	assert_int_equal(value_of("allocs<=0"), totals->allocs);
	assert_int_equal(value_of("temporary<=0"), totals->temporary);
	/* LOST, LOST-CYCLE and LOST-WITH; the last goes with the first of them. */
	assert_int_equal(value_of("lost<=0"), 700000 + 300000 + 64 + 5000);
	assert_int_equal(value_of("leaks<=0"), 3);
}

BUDGET_CHECK_TEST(limits_are_exact)
{
	expect("leaks<=3", SEEP_BUDGET_KEPT, NULL);
	expect("leaks<=2", SEEP_BUDGET_BROKEN, NULL);
	expect("lost<=1005063", SEEP_BUDGET_BROKEN, NULL);
	expect("lost<=1005064", SEEP_BUDGET_KEPT, NULL);
}

BUDGET_CHECK_TEST(a_place_counts_each_call_stack_through_it_once)
{
	/* By what a function is called in full, and without return type and parameters. */
	assert_int_equal(value_of("function:app::load_rows(std::istream&, int):live<=0"),
			 (4 << 20) + 400000 + 700000 + 120000);
	assert_int_equal(value_of("function:app::load_rows:live<=0"),
			 (4 << 20) + 400000 + 700000 + 120000);
	assert_int_equal(value_of("function:visit:live<=0"), (2 << 20) + 900000 + 120000);
	assert_int_equal(value_of("function:vis?t:live<=0"), (2 << 20) + 900000 + 120000);
	assert_int_equal(value_of("module:libblob.so:live<=0"), 250000 + 50000);
	assert_int_equal(value_of("module:/opt/*:live<=0"), 250000 + 50000);
	assert_int_equal(value_of("module:libstdc++*:live<=0"),
			 (4 << 20) + 400000 + 700000 + 120000);
	/* What comes before main is of no module. */
	assert_int_equal(value_of("module:libc.so*:live<=0"), 0);
	assert_int_equal(value_of("function:app::load_rows:leaks<=0"), 1);
	assert_int_equal(value_of("function:app::load_rows:lost<=0"), 700000 + 5000);
}

BUDGET_CHECK_TEST(a_leak_whose_root_is_no_leak_counts_itself)
{
	assert_int_equal(value_of("leaks<=0"), 3);
	/* No circle of roots hides them, whatever a file says. */
	for (uint32_t i = 0; i < side.profile->leak_count; i++)
		if (seep_verdict_is_leak(side.profile->leaks[i].verdict)) {
			side.profile->leaks[i].verdict = SEEP_VERDICT_LOST_WITH;
			side.profile->leaks[i].root = i + 1;
		}
	assert_int_equal(value_of("leaks<=0"), 4);
}

BUDGET_CHECK_TEST(the_largest_call_stacks_of_a_broken_budget_are_listed)
{
	struct seep_budget_outcome outcome = check("function:app::load_rows:live<=0");

	/* Two of the contexts are of the same lines. */
	assert_int_equal(outcome.stack_count, 3);
	assert_int_equal(outcome.stacks[0].value, (4 << 20) + 400000);
	assert_int_equal(outcome.stacks[0].counts.live_blocks, 1034);
	assert_int_equal(outcome.stacks[1].value, 700000);
	seep_budget_outcome_done(&outcome);
	outcome = check("leaks<=0");
	assert_int_equal(outcome.stack_count, 3);
	assert_int_equal(outcome.stacks[0].value, 705000);
	assert_int_equal(outcome.stacks[0].leak->verdict, SEEP_VERDICT_LOST);
	assert_int_equal(outcome.stacks[2].leak->verdict, SEEP_VERDICT_LOST_CYCLE);
	seep_budget_outcome_done(&outcome);
}

BUDGET_CHECK_TEST(stacks_that_are_not_whole_may_be_of_a_place)
{
	/* 250,000 bytes of a truncated stack, 4,096 without any. */
	expect("function:no_such:live<=254096", SEEP_BUDGET_KEPT, NULL);
	expect("function:no_such:live<=254095", SEEP_BUDGET_NOT_KNOWN, "more may belong to it");
	expect("module:no_such:live<=254095", SEEP_BUDGET_NOT_KNOWN, "more may belong to it");
	/* Whole, but for a name. */
	side.profile->contexts[6].truncated = false;
	side.profile->contexts[9].live_bytes = 0;
	side.profile->frames[S_MAIN].function = NULL;
	find_sites();
	expect("function:no_such:live<=1MB", SEEP_BUDGET_NOT_KNOWN, "more may belong to it");
	expect("module:no_such:live<=0", SEEP_BUDGET_KEPT, NULL);
	expect("live<=1GB", SEEP_BUDGET_KEPT, NULL);
}

BUDGET_CHECK_TEST(a_peak_is_known_within_its_error)
{
	struct seep_profile_totals *totals = &side.profile->totals;
	char text[64];

	totals->peak_error_bytes = 1000;
	(void)snprintf(text, sizeof(text), "peak<=%ju", (uintmax_t)totals->peak_bytes + 1000);
	expect(text, SEEP_BUDGET_KEPT, NULL);
	(void)snprintf(text, sizeof(text), "peak<=%ju", (uintmax_t)totals->peak_bytes + 999);
	expect(text, SEEP_BUDGET_NOT_KNOWN, "more may belong to it");
	(void)snprintf(text, sizeof(text), "peak<=%ju", (uintmax_t)totals->peak_bytes - 1);
	expect(text, SEEP_BUDGET_BROKEN, NULL);
	totals->peak_bytes = totals->live_bytes - 1;
	expect("peak<=1T", SEEP_BUDGET_NOT_KNOWN, "has no peak");
}

BUDGET_CHECK_TEST(what_nobody_looked_for_is_not_known)
{
	side.profile->scan.done = false;
	side.profile->leak_count = 0;
	side.profile->scan.why_not = seep_profile_strdup(side.profile, "it was killed by SIGKILL");
	expect("leaks<=0", SEEP_BUDGET_NOT_KNOWN,
	       "not scanned for leaks: it was killed by SIGKILL");
	expect("lost<=1MB", SEEP_BUDGET_NOT_KNOWN, "not scanned for leaks");
	expect("growth<=0", SEEP_BUDGET_KEPT, NULL);
	side.profile->growth_after_ns = 0;
	expect("growth<=0", SEEP_BUDGET_NOT_KNOWN, "growth was not judged");
	side.profile->totals.allocs = 1;
	expect("allocs<=1G", SEEP_BUDGET_NOT_KNOWN, "has live blocks only");
	expect("live<=1G", SEEP_BUDGET_KEPT, NULL);
}

BUDGET_CHECK_TEST(what_is_in_doubt_breaks_a_budget_but_does_not_keep_it)
{
	static const char *const codes[] = { "ledger-cut", "own-allocator", "bound-elsewhere",
					     "run-incomplete" };

	for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++) {
		side.profile->unseen_count = 0;
		seep_profile_add_unseen(side.profile, codes[i], "of %s", codes[i]);
		expect("live<=1G", SEEP_BUDGET_NOT_KNOWN, codes[i]);
		expect("live<=0", SEEP_BUDGET_BROKEN, NULL);
	}
	side.profile->unseen_count = 0;
	seep_profile_add_unseen(side.profile, SEEP_UNSEEN_DAMAGED, "damaged it was");
	expect("live<=1G", SEEP_BUDGET_NOT_KNOWN, "damaged it was");
	expect("live<=0", SEEP_BUDGET_NOT_KNOWN, "damaged it was");
	side.profile->unseen_count = 0;
	seep_profile_add_unseen(side.profile, "run-incomplete", "others are missing");
	plan.is_alone = true;
	expect("live<=1G", SEEP_BUDGET_KEPT, NULL);
	side.profile->totals.in_doubt = 1;
	expect("live<=1G", SEEP_BUDGET_NOT_KNOWN, "counted in part");
	side.profile->totals.in_doubt = 0;
	seep_profile_add_unseen(side.profile, "growth-full", "it is growth-full");
	seep_profile_add_unseen(side.profile, "one-moment", "it is one-moment");
	expect("growth<=0", SEEP_BUDGET_NOT_KNOWN, "it is growth-full");
	expect("temporary<=1G", SEEP_BUDGET_NOT_KNOWN, "it is one-moment");
	expect("peak<=1G", SEEP_BUDGET_NOT_KNOWN, "it is one-moment");
	expect("live<=1G", SEEP_BUDGET_KEPT, NULL);
	seep_profile_add_unseen(side.profile, "no-live", "it is no-live");
	expect("live<=1G", SEEP_BUDGET_NOT_KNOWN, "it is no-live");
}

BUDGET_CHECK_TEST(where_nothing_was_counted_nothing_is_known)
{
	struct seep_profile *profile = side.profile;

	/* Full, but all is counted. */
	seep_profile_add_unseen(profile, "ledger-full", "it is ledger-full");
	expect("live<=1G", SEEP_BUDGET_KEPT, NULL);
	profile->context_count = profile->leak_count = 0;
	profile->totals = (struct seep_profile_totals){ 0 };
	expect("live<=1G", SEEP_BUDGET_NOT_KNOWN, "it is ledger-full");
	/* A command that allocates nothing is common among a shell's. */
	profile->unseen_count = 0;
	expect("live<=1G", SEEP_BUDGET_NOT_KNOWN, "nothing was counted");
	seep_profile_add_unseen(profile, "no-allocations", "it is no-allocations");
	expect("live<=1G", SEEP_BUDGET_NOT_KNOWN, "it is no-allocations");
	plan.is_child = true;
	expect("live<=1G", SEEP_BUDGET_KEPT, NULL);
	seep_profile_add_unseen(profile, "no-space", "it is no-space");
	expect("live<=1G", SEEP_BUDGET_NOT_KNOWN, "it is no-space");
}

BUDGET_CHECK_TEST(what_grew_counts_also_where_it_was_given_back)
{
	struct seep_profile_growth growing = { .verdict = SEEP_GROWTH_GROWING, .bytes = 1000 };
	struct seep_profile_growth returned = { .verdict = SEEP_GROWTH_GROWING,
						.bytes = 500,
						.returned = true };
	struct seep_profile_growth stale = { .verdict = SEEP_GROWTH_STALE, .bytes = 70 };
	struct seep_profile *before;

	side.profile->contexts[0].growth = &growing;
	side.profile->contexts[3].growth = &returned;
	side.profile->contexts[4].growth = &stale;
	assert_int_equal(value_of("growth<=0"), 1500);
	assert_int_equal(value_of("function:visit:growth<=0"), 500);
	expect("growth<=0", SEEP_BUDGET_BROKEN, NULL);
	add_baseline(sample_profile())->contexts[0].growth = NULL;
	expect("growth<=0", SEEP_BUDGET_BROKEN, NULL);
	seep_baseline_done(&baseline);
	before = sample_profile();
	before->contexts[0].growth = &growing;
	before->contexts[3].growth = &growing;
	add_baseline(before);
	expect("growth<=0", SEEP_BUDGET_KEPT, NULL);
}

BUDGET_CHECK_TEST(leaks_of_the_baseline_are_known_by_hash)
{
	struct seep_profile *before = sample_profile_with_leaks();

	before->leak_count = 1;
	add_baseline(before);
	/* What goes with a known leak is known. */
	assert_int_equal(value_of("leaks<=0"), 2);
	assert_int_equal(value_of("lost<=0"), 300000 + 64);
	/* Which of them leads to the other may change. */
	side.profile->leaks[0].verdict = SEEP_VERDICT_REACHABLE;
	assert_int_equal(value_of("leaks<=0"), 3);
	add_baseline(sample_profile_with_leaks());
	assert_int_equal(value_of("leaks<=0"), 0);
	/* One without a hash is never known. */
	side.profile->leaks[0].verdict = SEEP_VERDICT_LOST;
	side.profile->leaks[0].hash = 0;
	assert_int_equal(value_of("leaks<=0"), 1);
}

/* By a stack of @here, of the block of another context of the sample. */
static struct seep_profile_finding *add_finding(struct seep_profile *profile, uint32_t here,
						uint64_t hash)
{
	struct seep_profile_finding *finding = seep_profile_add(profile, SEEP_ARRAY_FINDINGS);

	profile->knows_findings = true;
	*finding = (struct seep_profile_finding){ .kind = LEDGER_FINDING_DOUBLE_FREE,
						  .block = 5,
						  .here = here,
						  .hash = hash,
						  .count = 1 };
	return finding;
}

BUDGET_CHECK_TEST(each_finding_that_is_not_suppressed_counts_once)
{
	struct seep_budget_outcome outcome;

	expect("findings<=0", SEEP_BUDGET_NOT_KNOWN, "did not look for them");
	side.profile->knows_findings = true;
	expect("findings<=0", SEEP_BUDGET_KEPT, NULL);
	add_finding(side.profile, 1, 1)->count = 70;
	add_finding(side.profile, 3, 2)->count = 900;
	add_finding(side.profile, 3, 3)->suppressed_by = seep_profile_strdup(side.profile, "x");
	outcome = check("findings<=1");
	assert_int_equal(outcome.result, SEEP_BUDGET_BROKEN);
	assert_int_equal(outcome.value, 2);
	assert_int_equal(outcome.stack_count, 2);
	assert_int_equal(outcome.stacks[0].finding->hash, 2);
	assert_ptr_equal(outcome.stacks[0].context, &side.profile->contexts[2]);
	seep_budget_outcome_done(&outcome);
	expect("findings<=2", SEEP_BUDGET_KEPT, NULL);
	seep_profile_add_unseen(side.profile, "findings-full", "it is findings-full");
	expect("findings<=2", SEEP_BUDGET_NOT_KNOWN, "it is findings-full");
	expect("leaks<=9", SEEP_BUDGET_KEPT, NULL);
}

BUDGET_CHECK_TEST(a_finding_is_where_it_was_made_and_where_its_block_is_from)
{
	add_finding(side.profile, 1, 1);
	assert_int_equal(value_of("function:app::load_rows:findings<=0"), 1);
	assert_int_equal(value_of("function:visit:findings<=0"), 1);
	expect("function:no_such:findings<=0", SEEP_BUDGET_KEPT, NULL);
	/* Of no block that is known; then of a place that is not, either. */
	side.profile->findings[0].block = 0;
	expect("function:visit:findings<=0", SEEP_BUDGET_KEPT, NULL);
	side.profile->findings[0].here = 0;
	expect("function:visit:findings<=0", SEEP_BUDGET_NOT_KNOWN, "1 finding more may");
}

BUDGET_CHECK_TEST(findings_of_the_baseline_are_known_by_hash)
{
	struct seep_profile *before = sample_profile();

	add_finding(before, 2, 7);
	add_finding(before, 2, 8)->suppressed_by = seep_profile_strdup(before, "x");
	add_finding(before, 2, 0);
	add_baseline(before);
	add_finding(side.profile, 1, 7)->count = 1000;
	expect("findings<=0", SEEP_BUDGET_KEPT, NULL);
	add_finding(side.profile, 1, 8);
	add_finding(side.profile, 1, 0);
	assert_int_equal(value_of("findings<=0"), 2);
	expect("findings<=+1", SEEP_BUDGET_KEPT, NULL);
	expect("findings<=+0", SEEP_BUDGET_BROKEN, NULL);
	add_baseline(sample_profile());
	expect("findings<=+9", SEEP_BUDGET_NOT_KNOWN, "of the baseline");
}

/* Baseline, now, and whether that is more of it: a tenth more, and more than 1 block or 1 KB. */
BUDGET_CHECK_TEST(a_known_leak_that_grew_counts)
{
	static const struct {
		uint64_t before[2], now[2]; /* blocks, bytes */
		bool grew;
	} cases[] = {
		{ { 2, 2048 }, { 2, 32 << 20 }, true },
		{ { 2, 2048 }, { 2, 3072 }, false },
		{ { 2, 2048 }, { 2, 3073 }, true },
		{ { 1, 16 }, { 2, 32 }, false },
		{ { 1, 16 }, { 3, 48 }, true },
		{ { 100, 100000 }, { 110, 110000 }, false },
		{ { 100, 100000 }, { 111, 100000 }, true },
		{ { 100, 100000 }, { 100, 110001 }, true },
		{ { 100, 100000 }, { 1, 1 }, false },
		{ { UINT64_MAX, UINT64_MAX }, { UINT64_MAX, UINT64_MAX }, false },
	};

	side.profile->leak_count = 1;
	side.profile->leaks[0].with_blocks = side.profile->leaks[0].with_bytes = 0;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct seep_profile *before = sample_profile_with_leaks();
		struct seep_profile *less = sample_profile_with_leaks();
		struct seep_budget_outcome outcome;

		less->leak_count = before->leak_count = 1;
		less->leaks[0].blocks = less->leaks[0].bytes = 1;
		less->leaks[0].with_blocks = less->leaks[0].with_bytes = 0;
		before->leaks[0].blocks = before->leaks[0].with_blocks = cases[i].before[0] / 2;
		before->leaks[0].blocks += cases[i].before[0] % 2;
		before->leaks[0].bytes = cases[i].before[1];
		before->leaks[0].with_bytes = 0;
		side.profile->leaks[0].blocks = cases[i].now[0];
		side.profile->leaks[0].bytes = cases[i].now[1];
		add_baseline(before);
		/* Of several the largest counts. */
		add_baseline(less);
		outcome = check("leaks<=0");
		assert_int_equal(outcome.value, cases[i].grew);
		assert_int_equal(outcome.grown_count, cases[i].grew);
		if (cases[i].grew) {
			assert_int_equal(outcome.stacks[0].known_blocks, cases[i].before[0]);
			assert_int_equal(outcome.stacks[0].known_bytes, cases[i].before[1]);
		}
		seep_budget_outcome_done(&outcome);
		/* All that it has now, not the difference: so much is lost by what is to be mended. */
		assert_int_equal(value_of("lost<=0"), cases[i].grew ? cases[i].now[1] : 0);
		seep_baseline_done(&baseline);
	}
}

BUDGET_CHECK_TEST(leaks_of_the_same_functions_grow_together)
{
	struct seep_profile *before = sample_profile_with_leaks();

	before->leak_count = 1;
	add_baseline(before);
	/* Another line of them, or another thread. */
	side.profile->leak_count = 2;
	side.profile->leaks[1] = side.profile->leaks[0];
	assert_int_equal(value_of("leaks<=0"), 2);
	side.profile->leaks[1].bytes = side.profile->leaks[1].blocks = 1;
	side.profile->leaks[1].with_bytes = side.profile->leaks[1].with_blocks = 0;
	assert_int_equal(value_of("leaks<=0"), 0);
}

BUDGET_CHECK_TEST(a_baseline_is_measured_once)
{
	struct seep_profile *before = add_baseline(sample_profile());

	before->contexts[0].live_bytes = 9015552;
	expect("live<=+0", SEEP_BUDGET_KEPT, NULL);
	before->contexts[0].live_bytes = 0;
	expect("live<=+0", SEEP_BUDGET_KEPT, NULL);
	expect("live<=+1", SEEP_BUDGET_BROKEN, NULL);
}

BUDGET_CHECK_TEST(relative_limits_are_of_the_baseline)
{
	struct seep_profile *smaller = sample_profile();
	struct seep_profile *before = sample_profile();

	for (uint32_t i = 0; i < before->context_count; i++)
		before->contexts[i].live_bytes = smaller->contexts[i].live_bytes = 0;
	before->contexts[0].live_bytes = 8000000;
	expect("live<=+5%", SEEP_BUDGET_NOT_KNOWN, "no recording of this program");
	/* Of several recordings of the program, the largest figure counts. */
	add_baseline(smaller);
	add_baseline(before);
	add_baseline(sample_profile())->process.exe = NULL;
	assert_int_equal(value_of("live<=0"), 9015552);
	expect("live<=+1015552", SEEP_BUDGET_KEPT, NULL);
	expect("live<=+1015551", SEEP_BUDGET_BROKEN, NULL);
	expect("live<=+12.6944%", SEEP_BUDGET_KEPT, NULL);
	expect("live<=+12.6943%", SEEP_BUDGET_BROKEN, NULL);
	expect("function:visit:live<=+100%", SEEP_BUDGET_BROKEN, NULL);
	expect("leaks<=+0", SEEP_BUDGET_NOT_KNOWN, "of the baseline: not scanned for leaks");
	before->contexts[0].live_bytes = 9015552;
	expect("live<=+0", SEEP_BUDGET_KEPT, NULL);
	seep_profile_add_unseen(before, "ledger-cut", "it is ledger-cut");
	expect("live<=+0", SEEP_BUDGET_NOT_KNOWN, "it is ledger-cut");
}

BUDGET_CHECK_TEST(sums_stop_at_the_largest_number)
{
	side.profile->contexts[0].live_bytes = UINT64_MAX;
	side.profile->contexts[1].live_bytes = UINT64_MAX - 1;
	assert_true(value_of("live<=0") >= INT64_MAX);
	expect("live<=9223372036854775806", SEEP_BUDGET_BROKEN, NULL);
}
