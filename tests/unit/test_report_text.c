/* SPDX-License-Identifier: MIT */
/*
 * Every text view of one profile, compared with what it should look like. To accept a change:
 * SEEP_UPDATE=1 ctest -R test_report_text, then read the difference.
 */
#include <stdio.h>
#include <stdlib.h>

#include "analysis/keep.h"
#include "base/terminal.h"
#include "golden.h"
#include "report/report.h"
#include "sample_leaks.h"
#include "unit.h"
#include "view/leaks_view.h"

typedef void report_function(const struct seep_printer *, const struct seep_sites *,
			     const struct seep_view_options *);

/* How wide, and in colour? */
static struct seep_printer printer;

static char *render(report_function *report, const struct seep_profile *profile,
		    const struct seep_view_options *options)
{
	struct seep_sites *sites = seep_sites_new(profile);
	char *text = NULL;
	size_t bytes = 0;

	printer.out = open_memstream(&text, &bytes);
	assert_non_null(printer.out);
	report(&printer, sites, options);
	assert_int_equal(fclose(printer.out), 0);
	seep_sites_free(sites);
	return text;
}

static void report_raw(const struct seep_printer *to, const struct seep_sites *sites,
		       const struct seep_view_options *options)
{
	seep_report_raw(to->out, sites->profile, options);
}

static void report_json(const struct seep_printer *to, const struct seep_sites *sites,
			const struct seep_view_options *options)
{
	seep_report_json(to->out, sites->profile, options, false);
}

static void report_summary(const struct seep_printer *to, const struct seep_sites *sites,
			   const struct seep_view_options *options)
{
	seep_report_summary(to, sites->profile, options->path);
}

static int make_plain(void **state)
{
	(void)state;
	printer = (struct seep_printer){ .width = 80 };
	return 0;
}

#define TEXT_TEST(name) TEST_WITH(make_plain, name, NULL)

static void assert_fits(const char *text, size_t width)
{
	while (*text) {
		const size_t bytes = strcspn(text, "\n");

		if (seep_display_width(text, bytes) > width)
			fail_msg("wider than %zu: %.*s", width, (int)bytes, text);
		if (bytes > 0 && text[bytes - 1] == ' ')
			fail_msg("space at the end: \"%.*s\"", (int)bytes, text);
		text += bytes + (text[bytes] == '\n');
	}
}

static unsigned lines_of(const char *text)
{
	unsigned lines = 0;

	for (; *text; text++)
		lines += *text == '\n';
	return lines;
}

#define PATH .path = "server.4242.seep"
#define PLAIN PATH, .by = SEEP_BY_CHOICE

static const struct seep_view_options plain = { PLAIN };

/* On a terminal of @width columns, 0: none. */
TEXT_TEST(views_look_as_agreed)
{
	static const struct {
		const char *name;
		report_function *report;
		struct seep_profile *(*sample)(void);
		size_t width;
		struct seep_view_options options;
	} cases[] = {
		{ "report_stacks.txt", seep_report_stacks, sample_profile, 80, { PLAIN } },
		{ "report_stacks_allocs.txt",
		  seep_report_stacks,
		  sample_profile,
		  80,
		  { PATH, .by = SEEP_BY_ALLOCS, .top = 3 } },
		{ "report_stacks_full.txt",
		  seep_report_stacks,
		  sample_profile,
		  80,
		  { PATH, .by = SEEP_BY_PEAK, .full = true } },
		{ "report_stacks_narrow.txt", seep_report_stacks, sample_profile, 60, { PLAIN } },
		{ "report_stacks_leaks.txt",
		  seep_report_stacks,
		  sample_profile_with_leaks,
		  80,
		  { PLAIN } },
		{ "report_leaks.txt", seep_report_leaks, sample_profile_with_leaks, 80, { PLAIN } },
		{ "report_leaks_narrow.txt",
		  seep_report_leaks,
		  sample_profile_with_leaks,
		  60,
		  { PLAIN, .leak_blocks = 10, .why = true, .leak_kinds = UINT32_MAX } },
		{ "report_tree.txt", seep_report_tree, sample_profile, 80, { PLAIN } },
		/* Places stand beside the longest name. */
		{ "report_tree_wide.txt", seep_report_tree, sample_profile, 200, { PLAIN } },
		{ "report_flat.txt", seep_report_flat, sample_profile, 100, { PLAIN } },
		{ "report_raw.txt", report_raw, sample_profile, 0, { .by = SEEP_BY_CHOICE } },
		{ "report_summary.txt", report_summary, sample_profile, 80, { PLAIN } },
		{ "report_summary_leaks.txt",
		  report_summary,
		  sample_profile_with_leaks,
		  80,
		  { PLAIN } },
		{ "report_summary_nothing.txt", report_summary, seep_profile_new, 80, { PLAIN } },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct seep_profile *profile = cases[i].sample();
		char *text;

		printer.width = cases[i].width;
		text = render(cases[i].report, profile, &cases[i].options);
		expect_golden(cases[i].name, text);
		if (printer.width > 0 && !cases[i].options.full)
			assert_fits(text, printer.width);
		assert_null(strchr(text, '\033'));
		free(text);
		seep_profile_free(profile);
	}
}

/* ---- leaks ----------------------------------------------------------------------------------- */

static void assert_answer(const struct seep_profile *profile, const char *expected)
{
	char *answer = seep_leaks_answer(profile);

	assert_string_equal(answer, expected);
	free(answer);
}

TEXT_TEST(the_answer_says_what_is_known)
{
	struct seep_profile *profile = sample_profile();

	assert_answer(profile,
		      "Not scanned for leaks: no leak check was made when it was recorded");
	profile->process.ended = SEEP_ENDED_RUNNING;
	assert_answer(profile, "Not scanned for leaks: no leak check was made; \"seep leaks PID\" "
			       "makes one while it runs");
	profile->scan.why_not = seep_profile_strdup(profile, "killed by SIGSEGV");
	assert_answer(profile, "Not scanned for leaks: killed by SIGSEGV");
	seep_profile_free(profile);
	profile = sample_profile_with_leaks();
	assert_answer(profile, "3 leaks: 977 KB in 103 blocks lost, and 4.9 KB in 12 blocks with "
			       "them; 928 KB in 10 blocks may be lost; 117 KB in 4 blocks "
			       "suppressed; some memory could not be read");
	profile->scan.skipped_count = 0;
	profile->leak_count = 1;
	profile->leaks[0].blocks = profile->leaks[0].bytes = 1;
	assert_answer(profile, "1 leak: 1 B in 1 block lost");
	profile->leaks[0].verdict = SEEP_VERDICT_MAYBE_LOST;
	assert_answer(profile, "Nothing is lost for certain of 4,156 live blocks; 1 B in 1 block "
			       "may be lost");
	profile->leaks[0].verdict = SEEP_VERDICT_SUPPRESSED;
	assert_answer(profile, "Nothing is lost of 4,156 live blocks; 1 B in 1 block suppressed");
	/* A newer seep's. */
	profile->leaks[0].verdict = SEEP_VERDICT_COUNT;
	profile->scan.blocks = 1;
	assert_answer(profile, "Nothing is lost of 1 live block");
	profile->scan.blocks = 0;
	assert_answer(profile, "Nothing is lost: no blocks are left");
	seep_profile_free(profile);
}

static void assert_advice(const struct seep_profile *profile, const char *why)
{
	char *advice = seep_leaks_advice(profile);
	char *text = render(seep_report_leaks, profile, &plain);

	assert_true(why ? advice && strncmp(advice, why, strlen(why)) == 0 : !advice);
	assert_int_equal(strstr(text, "--fill") != NULL, why != NULL);
	free(advice);
	free(text);
}

TEXT_TEST(leaks_that_old_words_may_hide_come_with_advice)
{
	struct seep_profile *profile = sample_profile_with_leaks();

	assert_advice(profile, NULL);
	profile->leaks[0].bytes = 1;
	assert_advice(profile, "More is MAYBE-LOST than LOST: ");
	profile->leaks[4].context = profile->leaks[0].context;
	assert_advice(profile, "A call stack has both LOST and MAYBE-LOST blocks: ");
	profile->leaks[5].context = profile->leaks[1].context;
	assert_advice(profile, "Some call stacks have both LOST and MAYBE-LOST blocks: ");
	profile->process.options = seep_profile_strdup(profile, "verify=1:fill=0");
	assert_advice(profile, NULL);
	profile->process.options = seep_profile_strdup(profile, "fill=250:refill=1:fill=256");
	assert_advice(profile, "Some call stacks");
	profile->process.options = NULL;
	seep_profile_add_unseen(profile, SEEP_UNSEEN_IMPORTED, "by a test");
	assert_advice(profile, NULL);
	seep_profile_free(profile);
}

/* What is lost through stacks that are not shown stays in the answer, but is not listed. */
TEXT_TEST(leaks_are_chosen_with_their_contexts)
{
	static const char *const globs[] = { "libstdc++*" };
	const struct seep_keep_globs modules = { globs, 1 }, none = { 0 };
	struct seep_view_options options = plain;
	struct seep_profile *profile = sample_profile_with_leaks();
	struct seep_sites *sites = seep_sites_new(profile);
	char *text;

	profile->leaks[3].root = 2;
	seep_keep(profile, sites, &modules, &none, &none);
	seep_sites_free(sites);
	options.shown = "module libstdc++*";
	text = render(seep_report_leaks, profile, &options);
	assert_non_null(strstr(text, "\n3 leaks: "));
	assert_non_null(strstr(text, "\n  1. LOST: 684 KB"));
	/* Its root is not there to stand with. */
	assert_non_null(strstr(text, "\n  2. LOST-WITH: 4.9 KB"));
	assert_null(strstr(text, "\n  3. "));
	free(text);
	seep_profile_free(profile);
}

TEXT_TEST(many_that_go_with_a_leak_are_summed_up)
{
	struct seep_profile *profile = sample_profile_with_leaks();
	char *text;

	for (uint32_t i = 1; i < SAMPLE_LEAKS; i++) {
		profile->leaks[i].verdict = SEEP_VERDICT_LOST_WITH;
		profile->leaks[i].root = 1;
		profile->leaks[i].bytes = 1000 - i;
		profile->leaks[i].blocks = 1;
	}
	text = render(seep_report_leaks, profile, &plain);
	assert_non_null(strstr(text, "with them: 997 B in 1 block from "));
	assert_null(strstr(text, "with them: 996 B"));
	assert_non_null(strstr(text, "and 7.8 KB in 8 blocks from 8 more call stacks\n"));
	free(text);
	seep_profile_free(profile);
}

TEXT_TEST(what_is_not_there_is_said_to_be_none)
{
	static report_function *const views[] = { seep_report_stacks, seep_report_tree,
						  seep_report_flat };
	struct seep_profile *profile = seep_profile_new();

	for (size_t i = 0; i < sizeof(views) / sizeof(views[0]); i++) {
		char *text = render(views[i], profile, &plain);

		assert_non_null(strstr(text, "\nThere are no allocations.\n"));
		assert_null(strstr(text, " by allocations"));
		free(text);
	}
	seep_profile_free(profile);
}

TEXT_TEST(verified_walks_are_not_among_what_was_not_seen)
{
	struct seep_profile *profile = sample_profile();
	char *text;

	profile->totals.verify.asked = true;
	profile->totals.verify.walks = 3645;
	text = render(seep_report_stacks, profile, &plain);
	assert_non_null(
		strstr(text, "\nVerified: 3,645 walks compared with libgcc's, 0 differed\n"));
	free(text);
	seep_profile_free(profile);
}

static void report_others(const struct seep_printer *to, const struct seep_sites *sites,
			  const struct seep_view_options *options)
{
	seep_report_others(to, sites->profile, sites->profile, options->path);
}

/* The commands to type next are for copying: they are not folded. */
TEXT_TEST(every_view_fits_a_terminal_of_forty_columns)
{
	static report_function *const reports[] = { seep_report_stacks, seep_report_tree,
						    seep_report_flat,	report_summary,
						    report_others,	seep_report_leaks };
	static const size_t widths[] = { 40, 60, 80, 120 };
	struct seep_profile_other other = { .pid = 4194304,
					    .exe = (char[]){ "/usr/lib/gcc/12/cc1plus" },
					    .file = (char[]){ "4194304.cc1plus.seep" },
					    .peak_bytes = 999 << 20,
					    .live_bytes = 999 << 20,
					    .allocs = 123456 };
	struct seep_profile *profile = sample_profile_with_leaks();
	struct seep_view_options options = { .path = "a" };

	options.leak_kinds = UINT32_MAX;
	options.leak_blocks = 5;
	options.why = true;
	profile->others = &other;
	profile->other_count = 1;
	profile->run.sums.processes = 2;
	for (uint32_t i = 0; i < profile->frame_count; i++)
		if (profile->frames[i].file)
			profile->frames[i].file = "/home/kim/builds/of/the/server/and/more/src/"
						  "a_file_with_a_long_name.c";
	for (size_t i = 0; i < sizeof(reports) / sizeof(reports[0]); i++)
		for (size_t k = 0; k < sizeof(widths) / sizeof(widths[0]); k++)
			for (options.by = SEEP_BY_CHOICE; options.by < SEEP_MEASURE_COUNT;
			     options.by++) {
				char *text;

				printer.width = widths[k];
				text = render(reports[i], profile, &options);
				assert_fits(text, widths[k]);
				free(text);
			}
	seep_profile_free(profile);
}

/* In a table without a limit one such name would make every row as wide. */
TEXT_TEST(endless_names_end_where_the_width_is_unlimited)
{
	static report_function *const reports[] = { seep_report_stacks, seep_report_tree,
						    seep_report_flat };
	struct seep_profile *profile = sample_profile();
	char *name = calloc(100001, 1);

	assert_non_null(name);
	memset(name, 'n', 100000);
	for (uint32_t i = 0; i < profile->frame_count; i++)
		profile->frames[i].function = name;
	printer.width = 0;
	for (size_t i = 0; i < sizeof(reports) / sizeof(reports[0]); i++) {
		char *text = render(reports[i], profile, &plain);

		assert_fits(text, 1000);
		free(text);
	}
	seep_profile_free(profile);
	free(name);
}

/* Whatever was found: leaks; heap errors and growth as well. */
static void add_findings_and_growth(struct seep_profile *profile)
{
	struct seep_profile_growth *growth = seep_profile_calloc(profile, 1, sizeof(*growth));
	struct seep_profile_finding *finding = seep_profile_add(profile, SEEP_ARRAY_FINDINGS);

	*finding = (struct seep_profile_finding){
		.kind = LEDGER_FINDING_DOUBLE_FREE, .block = 2, .here = 1, .count = 3
	};
	*growth = (struct seep_profile_growth){ .verdict = SEEP_GROWTH_GROWING,
						.until_ns = 1000000000,
						.bytes = 1000 };
	profile->growth_after_ns = 1;
	profile->contexts[0].growth = growth;
}

static void assert_short(const struct seep_profile *profile)
{
	char *text = render(report_summary, profile, &plain);

	assert_fits(text, 80);
	if (lines_of(text) > 24)
		fail_msg("%u lines:\n%s", lines_of(text), text);
	assert_non_null(strstr(text, " --by lost "));
	free(text);
}

TEXT_TEST(summary_never_exceeds_24_lines)
{
	struct seep_profile *profile = sample_profile_with_leaks();

	for (int i = 0; i < 20; i++) {
		char code[32];

		(void)snprintf(code, sizeof(code), "trouble-%d", i);
		seep_profile_add_unseen(profile, code,
					"a long explanation of what could not be seen this time, "
					"longer than any terminal is wide, to be cut");
	}
	profile->process.ended = SEEP_ENDED_SIGNAL;
	profile->process.status_signal = 11;
	profile->process.core_dumped = true;
	profile->process.child_count = 3;
	profile->totals.untracked_frees = 3;
	assert_short(profile);
	add_findings_and_growth(profile);
	assert_short(profile);
	seep_profile_free(profile);
}

TEXT_TEST(every_view_of_nothing_works)
{
	static report_function *const reports[] = {
		seep_report_stacks, seep_report_tree, seep_report_flat, report_raw, report_json,
	};
	struct seep_profile *profile = seep_profile_new();
	const struct seep_view_options options = { .by = SEEP_BY_CHOICE };

	for (size_t i = 0; i < sizeof(reports) / sizeof(reports[0]); i++)
		free(render(reports[i], profile, &options));
	seep_profile_free(profile);
}

TEXT_TEST(color_only_adds_escape_sequences)
{
	struct seep_profile *profile = sample_profile();
	char *without = render(seep_report_stacks, profile, &plain);
	char *with;
	char *to;

	printer.color = true;
	with = to = render(seep_report_stacks, profile, &plain);
	assert_non_null(strstr(with, "\033[1m"));
	for (const char *from = with; *from; from++) {
		if (*from == '\033')
			from += strcspn(from, "m");
		else
			*to++ = *from;
	}
	*to = '\0';
	assert_string_equal(with, without);
	free(with);
	free(without);
	seep_profile_free(profile);
}

TEXT_TEST(a_program_has_the_name_that_it_was_started_by_too)
{
	static const struct {
		const char *exe, *as, *head;
	} cases[] = {
		{ "/usr/bin/redis-check-rdb", "redis-server", "redis-check-rdb as redis-server (" },
		{ "/bin/dash", "/bin/sh", "dash as sh (" },
		{ "/usr/bin/python3.11", "python3", "python3.11 (" },
		{ "/usr/bin/bash", "-bash", "bash (" },
		{ "/srv/app", "app --started", "app (" },
		{ "/srv/app", "", "app (" },
		{ "/srv/app", "\033[31m", "app as \\x1b[31m (" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct seep_profile *profile = sample_profile();
		char *text;

		profile->process.exe = seep_profile_strdup(profile, cases[i].exe);
		profile->process.argv[0] = seep_profile_strdup(profile, cases[i].as);
		text = render(seep_report_flat, profile, &plain);
		if (strncmp(text, cases[i].head, strlen(cases[i].head)) != 0)
			fail_msg("not \"%s\": %.60s", cases[i].head, text);
		free(text);
		seep_profile_free(profile);
	}
}

int main(void)
{
	(void)setenv("TZ", "UTC", 1);
	return unit_run(NULL, NULL);
}
