/* SPDX-License-Identifier: MIT */
/*
 * Growth verdicts on series that tests/soak/growth_table.py --series recorded from programs, each with
 * what the program says of itself. Of most programs (tests/programs/growth_*) only the series are left.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "analysis/growth_ages.h"
#include "analysis/growth_series.h"
#include "base/xalloc.h"
#include "unit.h"

#define MS 1000000ull

enum { EPOCHS_MAX = 8, LINE_BYTES_MAX = 1 << 16, SERIES = 618 };

/* As bench/live_series.c writes them, into a profile of one context. */
struct replay {
	struct seep_profile *profile;
	struct seep_profile_context *context;
	struct seep_profile_epoch epochs[EPOCHS_MAX];
	uint64_t starts_ms[EPOCHS_MAX];
};

/* The epoch that began then; a new one has its mark. */
static uint32_t epoch_at(struct replay *r, uint64_t start_ms)
{
	uint32_t epoch = 0;

	while (epoch < r->profile->mark_count && r->starts_ms[epoch] != start_ms)
		epoch++;
	if (r->starts_ms[epoch] != start_ms) {
		struct seep_profile_mark *mark = seep_profile_add(r->profile, SEEP_ARRAY_MARKS);

		mark->epoch = ++epoch;
		mark->at_ns = MS + start_ms * MS;
		assert_true(epoch < EPOCHS_MAX);
		r->starts_ms[epoch] = start_ms;
	}
	return epoch;
}

/* "ALLOCS:FREES;START_MS:BLOCKS:BYTES..." */
static void read_ages(struct replay *r, char *text)
{
	char *rest = NULL;
	char *word = strtok_r(text, ";", &rest);
	unsigned long long figures[3];

	assert_int_equal(sscanf(word, "%llu:%llu", &figures[0], &figures[1]), 2);
	r->context->allocs = figures[0];
	r->context->frees = figures[1];
	r->context->epoch_count = 0;
	while ((word = strtok_r(NULL, ";", &rest)) != NULL) {
		assert_int_equal(
			sscanf(word, "%llu:%llu:%llu", &figures[0], &figures[1], &figures[2]), 3);
		r->epochs[r->context->epoch_count++] = (struct seep_profile_epoch){
			epoch_at(r, figures[0]), figures[1], figures[2]
		};
	}
}

static bool replay(char *readings, uint64_t after_ns)
{
	struct replay r = { .profile = seep_profile_new() };
	struct seep_growth_series series = { 0 };
	struct seep_growth_ages *ages = NULL;
	uint64_t now_ns = MS, bytes = 0, blocks = 0;
	char *rest = readings;
	bool grows;

	r.profile->process.start_ns = MS;
	r.context = seep_profile_add(r.profile, SEEP_ARRAY_CONTEXTS);
	r.context->epochs = r.epochs;
	for (char *word; (word = strtok_r(NULL, " \n", &rest)) != NULL;) {
		long long ms, more_bytes, more_blocks;
		char *at = strchr(word, '@');

		assert_int_equal(sscanf(word, "%lld:%lld:%lld", &ms, &more_bytes, &more_blocks), 3);
		now_ns += (uint64_t)ms * MS;
		r.context->live_bytes = bytes += (uint64_t)more_bytes;
		r.context->live_blocks = blocks += (uint64_t)more_blocks;
		seep_growth_series_add(&series, after_ns, now_ns, bytes, blocks);
		if (!at)
			continue;
		read_ages(&r, at + 1);
		seep_growth_ages_add(&ages, r.profile, r.context, after_ns, now_ns);
	}
	grows = (((series.growing && !series.resting) || series.returned) &&
		 !(ages && series.variances < SEEP_GROWTH_CHANCE)) ||
		(ages && (ages->growing || ages->returned));
	free(ages);
	seep_profile_free(r.profile);
	return grows;
}

struct tally {
	unsigned right;
	unsigned missed;
	unsigned wrong;
	unsigned steady;
};

static void replay_line(char *line, struct tally *tally)
{
	char program[64], function[64], truth[16];
	unsigned seed, after_ms;
	int used = 0;
	bool grows, found;

	if (sscanf(line, "%63s %u %63s %15s %u %n", program, &seed, function, truth, &after_ms,
		   &used) != 5)
		fail_msg("not a series: %.60s", line);
	grows = strcmp(truth, "GROWING") == 0;
	found = replay(line + used, after_ms * MS);
	tally->right += grows && found;
	tally->missed += grows && !found;
	tally->wrong += !grows && found;
	tally->steady += !grows && !found;
	if (grows != found)
		print_message("%s %u: %s %s\n", program, seed, function,
			      grows ? "missed" : "said to grow");
}

/* 6 seeds of each of 32 programs that were written by people who had not seen the rules. */
TEST(recorded_series_are_judged_as_the_programs_say)
{
	char *path = seep_xasprintf("%s/tests/unit/growth_series.txt.gz", getenv("SEEP_SOURCE"));
	char *line = seep_xcalloc(LINE_BYTES_MAX, 1);
	gzFile file = gzopen(path, "r");
	struct tally tally = { 0 };

	assert_non_null(file);
	while (gzgets(file, line, LINE_BYTES_MAX))
		replay_line(line, &tally);
	(void)gzclose(file);
	free(line);
	free(path);
	print_message("%u GROWING found, %u missed, %u false, %u STEADY\n", tally.right,
		      tally.missed, tally.wrong, tally.steady);
	assert_int_equal(tally.right + tally.missed + tally.wrong + tally.steady, SERIES);
	/* Precision and recall. */
	assert_true(tally.right * 100 >= (tally.right + tally.wrong) * 98);
	assert_true(tally.right * 100 >= (tally.right + tally.missed) * 98);
}
