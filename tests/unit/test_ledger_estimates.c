/* SPDX-License-Identifier: MIT */
/*
 * Ledgers of the tiers below exact: what figures are estimated, that nothing is lost over it, and that
 * errors are as large as they say.
 */
#include "profile_case.h"

#include "ledger/ledger_tier.h"
#include "profile/estimate.h"
#include "profile/profile_check.h"

#include <math.h>

enum { SITE = LEDGER_CONTEXT_SITE, WEIGHTED = LEDGER_CONTEXT_WEIGHTED };

/* Nodes: outermost, by the number of the stack, then the call of malloc. */
static uint16_t module;

static uint32_t add(unsigned stack, uint32_t flags, unsigned sample, uint32_t epoch)
{
	const uint32_t outer = stack ? built_node(&ledger, 0, module, 0x1000 + 16 * stack) : 0;
	const uint32_t leaf = built_node(&ledger, outer, module, 0x3000);
	const uint32_t context = built_context(&ledger, leaf, LEDGER_KIND_MALLOC);

	ledger.contexts[context].flags |= flags;
	ledger.contexts[context].sample = (uint8_t)sample;
	return built_row(&ledger, context, epoch);
}

static int setup_tiers(void **state)
{
	(void)setup(state);
	module = built_module(&ledger, "/usr/bin/prog", 7);
	ledger.header->sample_log2 = LEDGER_SAMPLE_LOG2;
	ledger.state->tiers = LEDGER_MODE_SAMPLED;
	ledger.state->tiers_since_ns = 3000;
	(void)built_cache(&ledger, 1);
	return 0;
}
#define TIERS_TEST(name) TEST_WITH(setup_tiers, name, teardown)

/* The library counts what was not walked, too, so that its sums are those of the rows. */
static void load_whole(void)
{
	struct seep_error err = { 0 };
	uint64_t allocs = 0, live = 0;

	for (uint64_t i = 0; i < ledger.state->table[LEDGER_TABLE_ROWS].ready; i++) {
		const struct ledger_row *row = &ledger.rows[i];
		const struct ledger_context *context = &ledger.contexts[row->context_ready - 1];
		const unsigned d = context->flags & WEIGHTED ? context->sample : 0;

		allocs += row->allocs << d;
		live += (row->alloc_bytes - row->freed_bytes) << d;
	}
	ledger.caches[0].histogram[8] = allocs;
	ledger.state->live_bytes = ledger.state->peak_bytes = (int64_t)live;
	load();
	assert_null(unseen(SEEP_UNSEEN_DAMAGED));
	if (seep_profile_check(profile, &err) < 0)
		fail_msg("%s", err.text);
}

/* Of stack 0 the site's own. */
static const struct seep_profile_context *stack_of(unsigned stack)
{
	for (uint32_t i = 0; i < profile->context_count; i++) {
		const struct seep_profile_context *c = &profile->contexts[i];

		if (stack == 0
			    ? c->site
			    : c->stack_count == 2 && profile->frames[c->stack[1].frame].address ==
							     0x1000 + 16 * stack)
			return c;
	}
	fail_msg("stack %u is not there", stack);
	abort();
}

TIERS_TEST(a_weighted_row_stands_for_more)
{
	const struct seep_profile_context *got;

	set_row(add(1, WEIGHTED, 3, 0), 10, 1000, 4, 400);
	set_row(add(1, WEIGHTED, 1, 1), 6, 6000, 0, 0);
	set_row(add(1, 0, 0, 1), 1, 7, 0, 0);
	ledger.caches[0].passed_allocs = 90;
	ledger.caches[0].passed_alloc_bytes = 9000;
	ledger.caches[0].passed_frees = 30;
	load_whole();
	got = stack_of(1);
	assert_int_equal(profile->context_count, 1);
	assert_int_equal(got->allocs, 10 * 8 + 6 * 2 + 1);
	assert_int_equal(got->live_bytes, 600 * 8 + 6000 * 2 + 7);
	assert_int_equal(got->epoch_count, 2);
	assert_int_equal(got->epochs[0].blocks, 48);
	/* 10 of 8 and 6 of 2, as if they were two more. */
	assert_int_equal(got->errors[SEEP_FIGURE_allocs],
			 seep_error_ceil(1.959964 * sqrt((10 * 56 + 6 * 2) * 18. / 16)));
	assert_int_equal(profile->totals.errors[SEEP_FIGURE_allocs],
			 got->errors[SEEP_FIGURE_allocs]);
	assert_int_equal(profile->totals.counted_allocs, 10 + 6 + 1 + 90);
	assert_int_equal(profile->totals.counted_alloc_bytes, 1000 + 6000 + 7 + 9000);
	assert_int_equal(profile->totals.counted_frees, 4 + 30);
	assert_int_equal(profile->process.sample_bytes, 512 * 1024);
	assert_int_equal(profile->process.estimates_since_ns, 3000);
}

TIERS_TEST(what_has_nothing_alive_may_have_some)
{
	set_row(add(1, WEIGHTED, 4, 0), 3, 300, 3, 300);
	load_whole();
	assert_int_equal(stack_of(1)->live_blocks, 0);
	assert_int_equal(stack_of(1)->errors[SEEP_FIGURE_live_blocks],
			 seep_error_ceil(1.959964 * sqrt(2 * 16 * 15)));
}

TIERS_TEST(a_weight_that_makes_a_figure_impossible_is_damage)
{
	set_row(add(1, WEIGHTED, 12, 0), UINT64_C(1) << 55, 100, 0, 0);
	set_row(add(2, WEIGHTED, 255, 0), 1, 1, 0, 0);
	load();
	assert_non_null(unseen(SEEP_UNSEEN_DAMAGED));
	assert_int_equal(profile->totals.allocs, UINT64_C(1) << LEDGER_SAMPLE_LOG2_MAX);
}

/* Of each figure, what the rows of the site and its stacks have in all. */
static void assert_nothing_is_lost(void)
{
	uint64_t sums[5] = { 0 }, got[5] = { 0 };

	for (uint64_t i = 0; i < ledger.state->table[LEDGER_TABLE_ROWS].ready; i++) {
		const struct ledger_row *row = &ledger.rows[i];

		sums[0] += row->allocs;
		sums[1] += row->alloc_bytes;
		sums[2] += row->frees;
		sums[3] += row->freed_bytes;
		sums[4] += row->temporaries;
	}
	for (uint32_t i = 0; i < profile->context_count; i++) {
		got[0] += profile->contexts[i].allocs;
		got[1] += profile->contexts[i].alloc_bytes;
		got[2] += profile->contexts[i].frees;
		got[3] += profile->contexts[i].freed_bytes;
		got[4] += profile->contexts[i].temporary;
	}
	assert_memory_equal(sums, got, sizeof(sums));
	for (int f = 0; f < SEEP_FIGURE_COUNT; f++)
		assert_int_equal(profile->totals.errors[f], 0);
}

TIERS_TEST(the_rest_of_a_site_goes_to_its_stacks)
{
	uint32_t rows[5];

	ledger.state->tiers = LEDGER_MODE_COUNTS;
	rows[0] = add(0, SITE, 0, 0);
	set_row(rows[0], 10001, 320007, 4000, 64000);
	built_row_at(&ledger, rows[0])->temporaries = 500;
	set_row(add(1, 0, 0, 0), 700, 22400, 0, 0);
	set_row(rows[1] = add(1, 0, 3, 0), 10, 640, 4, 64);
	built_row_at(&ledger, rows[1])->temporaries = 2;
	set_row(rows[2] = add(2, 0, 3, 0), 30, 960, 12, 192);
	set_row(add(3, 0, 0, 0), 5, 50, 5, 50);
	load_whole();
	assert_nothing_is_lost();
	assert_int_equal(stack_of(0)->allocs, 0);
	assert_int_equal(stack_of(0)->live_bytes, 0);
	/* 6 and 18 of 8 are alive; 576 and 768 bytes of them. */
	assert_int_equal(stack_of(1)->live_blocks, 700 + 6 + 6001 / 4);
	assert_int_equal(stack_of(2)->live_blocks, 18 + 6001 - 6001 / 4);
	assert_int_equal(stack_of(1)->frees, 4 + 1000);
	assert_in_range(stack_of(1)->live_bytes, 22400 + 576 + 109600, 22400 + 576 + 109800);
	assert_int_equal(stack_of(1)->temporary, 2 + 500);
	/* It may have had a share, too. */
	assert_int_equal(stack_of(3)->allocs, 5);
	assert_true(stack_of(3)->errors[SEEP_FIGURE_allocs] > 0);
	/* How sure that is depends on how many were taken: 24 of those alive. */
	assert_int_equal(stack_of(1)->errors[SEEP_FIGURE_live_blocks],
			 seep_error_ceil(6001 * seep_share_error(0.25, 24)));
}

TIERS_TEST(what_has_nothing_to_go_by_stays_with_its_site)
{
	uint32_t site;

	ledger.state->tiers = LEDGER_MODE_COUNTS;
	set_row(site = add(0, SITE, 0, 0), 100, 1000, 40, 400);
	built_row_at(&ledger, site)->temporaries = 30;
	set_row(add(1, 0, 4, 0), 2, 20, 0, 0);
	load_whole();
	assert_nothing_is_lost();
	/* Nothing that was taken has been freed. */
	assert_int_equal(stack_of(0)->frees, 40);
	assert_int_equal(stack_of(0)->live_blocks, 0);
	assert_int_equal(stack_of(0)->temporary, 30);
	assert_int_equal(stack_of(1)->live_blocks, 62);
	assert_int_equal(stack_of(1)->errors[SEEP_FIGURE_live_blocks],
			 seep_error_ceil(60 * seep_share_error(1, 2)));
}

TIERS_TEST(what_is_alive_is_told_by_epoch)
{
	ledger.state->tiers = LEDGER_MODE_COUNTS;
	for (uint32_t epoch = 0; epoch < 4; epoch++)
		set_row(add(0, SITE, 0, epoch), 100, 1000, 0, 0);
	set_row(add(1, 0, 2, 0), 3, 30, 0, 0);
	set_row(add(2, 0, 2, 1), 3, 30, 0, 0);
	set_row(add(1, 0, 2, 2), 1, 10, 0, 0);
	set_row(add(2, 0, 2, 2), 3, 30, 0, 0);
	load_whole();
	assert_nothing_is_lost();
	assert_int_equal(stack_of(1)->epoch_count, 3);
	assert_int_equal(stack_of(1)->epochs[0].blocks, 103);
	assert_int_equal(stack_of(1)->epochs[1].blocks, 26);
	/* Nothing was taken then: as in all. */
	assert_int_equal(stack_of(1)->epochs[2].epoch, 3);
	assert_int_equal(stack_of(1)->epochs[2].blocks, 40);
	assert_int_equal(stack_of(0)->epoch_count, 0);
}

/* ---- chance ---------------------------------------------------------------------------------- */

static unsigned short random_state[3];

static double draw(void)
{
	return erand48(random_state);
}

enum { TRIALS = 1500 };

struct coverage {
	double sum, square; /* of estimates */
	unsigned covered;
};

static void look(struct coverage *c, uint64_t value, uint64_t error, double truth)
{
	c->sum += (double)value;
	c->square += (double)value * (double)value;
	c->covered += fabs((double)value - truth) <= (double)error;
}

/* As often as they say, and not on one side. */
static void assert_covers(const char *what, const struct coverage *c, double truth)
{
	const double mean = c->sum / TRIALS;
	const double deviation = sqrt(fmax(0, c->square / TRIALS - mean * mean) / TRIALS);

	print_message("%s: %.0f, on average %.0f ± %.0f, covered %.1f %%\n", what, truth, mean,
		      deviation, 100. * c->covered / TRIALS);
	assert_true(c->covered >= TRIALS * 93 / 100);
	assert_true(fabs(mean - truth) <= 4 * deviation + truth / 1000 + 1);
}

TEST(samples_are_as_far_off_as_their_errors_say)
{
	static const struct {
		unsigned size; /* from here to twice */
		unsigned count;
	} cases[] = { { 32, 8192 },   { 32, 50000 }, { 64, 65536 }, { 512, 3000 },
		      { 512, 60000 }, { 65536, 12 }, { 65536, 80 }, { 100, 300000 } };

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const double size = cases[i].size, count = cases[i].count,
			     bytes = count * size * 1.5;
		const double weight =
			ldexp(1, (int)ledger_sample_of(cases[i].size, LEDGER_SAMPLE_LOG2));
		const double unit = weight * (weight - 1);
		struct coverage of_blocks = { 0 }, of_bytes = { 0 };

		random_state[0] = (unsigned short)i;
		for (int trial = 0; trial < TRIALS; trial++) {
			struct seep_taken blocks = { 0 }, held = { 0 };
			double sum = 0, mean, at = 0;

			/* From one that is taken to the next. */
			while ((at += 1 + floor(log(1 - draw()) / log1p(-1 / weight))) <= count) {
				sum += size * (1 + draw());
				blocks.count++;
			}
			mean = blocks.count > 0 ? sum / blocks.count : size * 1.5;
			blocks.variance = blocks.count * unit;
			held.count = blocks.count;
			held.variance = blocks.variance * mean * mean * 9 / 8;
			look(&of_blocks, (uint64_t)(blocks.count * weight),
			     seep_taken_error(&blocks, unit), count);
			look(&of_bytes, (uint64_t)(sum * weight),
			     seep_taken_error(&held, unit * mean * mean * 9 / 8), bytes);
		}
		assert_covers("blocks", &of_blocks, count);
		assert_covers("bytes", &of_bytes, bytes);
	}
}

TIERS_TEST(shares_are_as_far_off_as_their_errors_say)
{
	static const struct {
		double shares[4];
		unsigned count, sample;
	} cases[] = {
		{ { 0.5, 0.3, 0.15, 0.05 }, 2000, 7 },	 { { 0.5, 0.3, 0.15, 0.05 }, 2000, 5 },
		{ { 0.5, 0.3, 0.15, 0.05 }, 20000, 5 },	 { { 0.97, 0.01, 0.01, 0.01 }, 5000, 5 },
		{ { 0.25, 0.25, 0.25, 0.25 }, 1000, 6 }, { { 0.9, 0.1, 0, 0 }, 3000, 8 }
	};
	uint32_t rows[5];

	ledger.state->tiers = LEDGER_MODE_COUNTS;
	rows[0] = add(0, SITE, 0, 0);
	for (unsigned k = 1; k < 5; k++) {
		rows[k] = add(k, 0, 1, 0);
		set_row(add(k, 0, 0, 0), 1, 16, 0, 0);
	}
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct coverage blocks[5] = { { 0 } }, bytes[5] = { { 0 } };

		random_state[0] = (unsigned short)(i + 99);
		for (unsigned k = 1; k < 5; k++)
			ledger.contexts[ledger.rows[rows[k] - 1].context_ready - 1].sample =
				(uint8_t)cases[i].sample;
		for (int trial = 0; trial < TRIALS; trial++) {
			uint64_t taken[5] = { 0 }, truth_bytes = 0, rest = 0;

			for (unsigned k = 1; k < 5; k++) {
				const unsigned own =
					(unsigned)(cases[i].count * cases[i].shares[k - 1]);

				for (unsigned n = 0; n < own; n++)
					taken[k] += draw() < ldexp(1, -(int)cases[i].sample);
				rest += own - taken[k];
				truth_bytes += (own - taken[k]) * 16 * k;
				set_row(rows[k], taken[k], taken[k] * 16 * k, 0, 0);
			}
			set_row(rows[0], rest, truth_bytes, 0, 0);
			if (taken[1] + taken[2] + taken[3] + taken[4] == 0)
				continue;
			load_whole();
			for (unsigned k = 1; k < 5; k++) {
				const struct seep_profile_context *got = stack_of(k);
				const double own = floor(cases[i].count * cases[i].shares[k - 1]) +
						   1;

				look(&blocks[k], got->live_blocks,
				     got->errors[SEEP_FIGURE_live_blocks], own);
				look(&bytes[k], got->live_bytes,
				     got->errors[SEEP_FIGURE_live_bytes], (own - 1) * 16 * k + 16);
			}
		}
		for (unsigned k = 1; k < 5; k++) {
			assert_covers("blocks", &blocks[k],
				      floor(cases[i].count * cases[i].shares[k - 1]) + 1);
			print_message("bytes covered %.1f %%\n", 100. * bytes[k].covered / TRIALS);
		}
	}
}
