/* SPDX-License-Identifier: MIT */
/* What a profile says of a scan, made by hand. */
#include <stdlib.h>
#include <unistd.h>

#include "base/xalloc.h"
#include "profile/verdict.h"
#include "recorder/leak_check.h"
#include "sample_leaks.h"
#include "unit.h"

/* One lost block of the sample's context @context. */
static void check(struct seep_profile *profile, uint32_t context,
		  const struct seep_leak_check_plan *plan)
{
	struct scan_block block = { .address = 0x5000, .size = 64, .row = 7 };
	uint64_t from = 0;
	uint32_t unreached = 0, first_edge[2] = { 0 };
	struct seep_profile_row row = { .context = context + 1 };
	struct seep_leak_scan scan = {
		.method = SEEP_SCAN_STOPPED,
		.pause_ns = 5,
		.marked = { .block_count = 3, .skipped_count = SCAN_SKIPPED_MAX + 2 },
		.result = { .all = &block,
			    .from = &from,
			    .all_count = 1,
			    .unreached = &unreached,
			    .block_count = 1,
			    .first_edge = first_edge },
	};

	profile->first_row = 7;
	profile->rows = &row;
	profile->row_count = 1;
	seep_texts_take(&scan.caveats, seep_xstrdup("the moon was full"));
	seep_leak_check_fill(profile, &scan, plan);
	seep_texts_done(&scan.caveats);
	profile->row_count = 0;
}

TEST(a_damaged_ledger_gives_no_verdicts)
{
	static const struct seep_leak_check_plan plan = { .block_list_max = 1 };
	struct seep_profile *profile = sample_profile();

	seep_profile_add_unseen(profile, SEEP_UNSEEN_DAMAGED, "it was");
	profile->leak_count = 0;
	check(profile, 3, &plan);
	assert_false(profile->scan.done);
	assert_string_equal(profile->scan.why_not, "the ledger was damaged");
	assert_int_equal(profile->leak_count, 0);
	seep_profile_free(profile);
	profile = sample_profile();
	profile->leak_count = 0;
	profile->totals.alloc_bytes = 31; /* of one block of 64 */
	check(profile, 3, &plan);
	assert_false(profile->scan.done);
	assert_true(seep_profile_says(profile, SEEP_UNSEEN_DAMAGED));
	seep_profile_free(profile);
}

TEST(a_scan_is_told_with_its_leaks)
{
	static const struct seep_leak_check_plan plan = { .block_list_max = 1 };
	struct seep_profile *profile = sample_profile();
	const struct seep_profile_scan *scan = &profile->scan;

	check(profile, 3, &plan);
	assert_true(scan->done);
	assert_string_equal(scan->method, "stopped");
	assert_int_equal(scan->blocks, 3);
	assert_int_equal(scan->skipped_count, SCAN_SKIPPED_MAX);
	assert_int_equal(scan->caveat_count, 2);
	assert_string_equal(scan->caveats[0], "the moon was full");
	assert_string_equal(scan->caveats[1],
			    "66 ranges of memory could not be read, of which 64 are listed");
	assert_int_equal(profile->leak_count, 1);
	assert_int_equal(profile->leaks[0].verdict, SEEP_VERDICT_LOST);
	assert_int_equal(profile->leaks[0].context, 4);
	assert_int_equal(profile->leaks[0].block_list[0].address, 0x5000);
	seep_leak_check_none(profile, "it is too late for that");
	assert_null(scan->why_not);
	seep_profile_free(profile);
}

TEST(suppressions_that_are_gone_become_a_caveat)
{
	static const char *const files[] = { "/nonexistent/known.supp" };
	const struct seep_leak_check_plan plan = { .suppressions = files, .suppression_count = 1 };
	struct seep_profile *profile = sample_profile();
	struct seep_suppressions *suppressions;
	struct seep_error err = { 0 };

	assert_int_equal(seep_leak_check_suppressions(&plan, &suppressions, &err), -SEEP_ENOTFOUND);
	assert_non_null(strstr(err.text, files[0]));
	check(profile, 3, &plan);
	assert_non_null(strstr(profile->scan.caveats[1], "nothing was suppressed: "));
	assert_int_equal(profile->leaks[0].verdict, SEEP_VERDICT_LOST);
	seep_profile_free(profile);
}

static const struct seep_profile_suppression *find_rule(const struct seep_profile *profile,
							const char *text)
{
	for (uint32_t i = 0; i < profile->scan.suppression_count; i++)
		if (strcmp(profile->scan.suppressions[i].text, text) == 0)
			return &profile->scan.suppressions[i];
	fail_msg("%s is not told", text);
	return NULL;
}

/* Leaks that were judged before, with @rules applied. */
static struct seep_profile *suppressed_by(const char *rules)
{
	char path[] = "/tmp/seep-suppressions-XXXXXX";
	const char *const files[] = { path };
	const struct seep_leak_check_plan plan = { .suppressions = files, .suppression_count = 1 };
	struct seep_profile *profile = sample_profile_with_leaks();
	struct seep_profile_finding *finding = seep_profile_add(profile, SEEP_ARRAY_FINDINGS);
	struct seep_error err = { 0 };
	const int fd = mkstemp(path);

	*finding = (struct seep_profile_finding){ .here = 1, .hash = 0xf00d, .count = 2 };

	assert_int_equal(write(fd, rules, strlen(rules)), strlen(rules));
	(void)close(fd);
	assert_int_equal(seep_leak_check_suppress(profile, &plan, &err), 0);
	(void)unlink(path);
	return profile;
}

TEST(suppressions_apply_to_what_was_judged_before)
{
	struct seep_profile *profile =
		suppressed_by("hash:3333333333333333\nhash:9999999999999999\nleak:nowhere\n");

	assert_int_equal(profile->leaks[0].verdict, SEEP_VERDICT_SUPPRESSED);
	assert_string_equal(profile->leaks[0].suppressed_by, "hash:3333333333333333");
	assert_int_equal(profile->leaks[1].verdict, SEEP_VERDICT_LOST);
	/* It goes with the first. */
	assert_int_equal(profile->leaks[3].verdict, SEEP_VERDICT_SUPPRESSED);
	assert_int_equal(find_rule(profile, "hash:3333333333333333")->blocks, 100);
	/* Suppressed already; that is no reason to call the rule unused. */
	assert_int_equal(find_rule(profile, "hash:9999999999999999")->leaks, 1);
	assert_int_equal(find_rule(profile, "leak:nowhere")->leaks, 0);
	/* The recording's own. */
	assert_int_equal(find_rule(profile, "leak:app::Index*")->leaks, 1);
	seep_profile_free(profile);
}

TEST(suppressions_apply_to_findings_scanned_or_not)
{
	static const struct seep_leak_check_plan none = { .block_list_max = 1 };
	struct seep_profile *profile = suppressed_by("hash:000000000000f00d\n");

	assert_string_equal(profile->findings[0].suppressed_by, "hash:000000000000f00d");
	assert_int_equal(find_rule(profile, "hash:000000000000f00d")->blocks, 2);
	/* A later look takes no rule away. */
	assert_int_equal(seep_leak_check_suppress(profile, &none, NULL), 0);
	assert_non_null(profile->findings[0].suppressed_by);
	seep_profile_free(profile);
	profile = suppressed_by("misuse:nowhere\n");
	assert_null(profile->findings[0].suppressed_by);
	/* The program's own rules, with a scan. */
	profile->process.suppressions = seep_profile_strdup(profile, "misuse:load_rows");
	check(profile, 3, &none);
	assert_string_equal(profile->findings[0].suppressed_by, "misuse:load_rows");
	seep_profile_free(profile);
}

TEST(what_is_suppressed_alone_is_not_counted_with_its_root)
{
	struct seep_profile *profile = suppressed_by("hash:1111111111111111\n");

	assert_int_equal(profile->leaks[0].verdict, SEEP_VERDICT_LOST);
	assert_int_equal(profile->leaks[0].with_blocks, 0);
	assert_int_equal(profile->leaks[3].verdict, SEEP_VERDICT_SUPPRESSED);
	seep_profile_free(profile);
}

TEST(the_first_reason_not_to_scan_stays)
{
	struct seep_profile *profile = sample_profile();

	seep_leak_check_none(profile, "it was killed by SIGSEGV");
	seep_leak_check_none(profile, "the process has ended");
	assert_false(profile->scan.done);
	assert_string_equal(profile->scan.why_not, "it was killed by SIGSEGV");
	seep_profile_free(profile);
}
