/* SPDX-License-Identifier: MIT */
/* What the processes of a run come to together. */

#include "unit.h"

#include "recorder/recorder_result.h"

static const struct seep_profile_forked no_forks;
static char exe[] = "/bin/x", file[] = "1.x.seep";

/* A process that began, ended and had a peak. */
static struct seep_profile_other ran(uint64_t start_ns, uint64_t end_ns, uint64_t peak_bytes)
{
	return (struct seep_profile_other){
		.exe = exe,
		.file = file,
		.start_ns = start_ns,
		.end_ns = end_ns,
		.allocs = 10,
		.alloc_bytes = 1000,
		.frees = 4,
		.freed_bytes = 400,
		.live_bytes = 600,
		.peak_bytes = peak_bytes,
	};
}

/* The main program runs from 100 to 200 with a peak of 50. */
static struct seep_profile *main_profile(void)
{
	struct seep_profile *profile = seep_profile_new();

	profile->process.start_ns = 100;
	profile->process.end_ns = 200;
	profile->totals.allocs = 1;
	profile->totals.alloc_bytes = 70;
	profile->totals.live_bytes = 70;
	profile->totals.peak_bytes = 50;
	return profile;
}

TEST(peaks_count_together_where_processes_ran_at_the_same_time)
{
	static const struct {
		uint64_t first[3], second[3]; /* start, end, peak */
		uint64_t want;
	} cases[] = {
		{ { 110, 120, 30 }, { 130, 140, 20 }, 80 },  /* one after another */
		{ { 110, 131, 30 }, { 130, 140, 20 }, 100 }, /* both for a while */
		{ { 110, 130, 30 }, { 130, 140, 20 }, 80 },  /* one makes way for the next */
		{ { 110, 0, 30 }, { 300, 310, 25 }, 80 },    /* nobody knows when it ended */
		{ { 10, 20, 90 }, { 20, 100, 95 }, 95 },     /* earlier programs of the process */
		{ { 210, 0, 30 }, { 300, 310, 45 }, 75 },    /* those that were left behind */
		{ { 0, 0, 0 }, { 0, 0, 0 }, 50 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct seep_profile_other others[] = {
			ran(cases[i].first[0], cases[i].first[1], cases[i].first[2]),
			ran(cases[i].second[0], cases[i].second[1], cases[i].second[2]),
		};
		struct seep_profile *profile = main_profile();

		seep_run_sum(profile, others, 2, &no_forks);
		assert_int_equal(profile->run.peaks_at_once_bytes, cases[i].want);
		assert_int_equal(profile->run.peaks_bytes,
				 50 + cases[i].first[2] + cases[i].second[2]);
		seep_profile_free(profile);
	}
}

TEST(all_processes_are_summed_and_the_others_kept)
{
	const struct seep_profile_forked forks = {
		.processes = 7, .allocs = 5, .alloc_bytes = 50, .frees = 5, .freed_bytes = 50
	};
	const struct seep_profile_other other = ran(110, 120, 30);
	struct seep_profile *profile = main_profile();

	seep_run_sum(profile, &other, 1, &forks);
	assert_int_equal(profile->run.sums.processes, 9);
	assert_int_equal(profile->run.sums.allocs, 1 + 10 + 5);
	assert_int_equal(profile->run.sums.alloc_bytes, 70 + 1000 + 50);
	assert_int_equal(profile->run.sums.frees, 4 + 5);
	assert_int_equal(profile->run.sums.freed_bytes, 400 + 50);
	assert_int_equal(profile->run.sums.live_bytes, 70 + 600);
	assert_int_equal(profile->other_count, 1);
	assert_string_equal(profile->others[0].exe, "/bin/x");
	assert_ptr_not_equal(profile->others[0].exe, other.exe);
	seep_profile_free(profile);
}

TEST(a_process_alone_has_no_sums)
{
	struct seep_profile *profile = main_profile();

	seep_run_sum(profile, NULL, 0, &no_forks);
	assert_int_equal(profile->run.sums.processes, 0);
	seep_profile_free(profile);
}

TEST(figures_that_no_process_has_do_not_wrap)
{
	struct seep_profile_other others[] = { ran(110, 120, INT64_MAX), ran(110, 120, INT64_MAX),
					       ran(110, 120, 30) };
	struct seep_profile *profile = main_profile();

	others[0].allocs = UINT64_MAX;
	seep_run_sum(profile, others, 3, &no_forks);
	assert_int_equal(profile->run.sums.processes, 4);
	assert_true(profile->run.sums.allocs <= INT64_MAX);
	assert_true(profile->run.peaks_bytes <= INT64_MAX);
	assert_true(profile->run.peaks_at_once_bytes <= profile->run.peaks_bytes);
	seep_profile_free(profile);
}
