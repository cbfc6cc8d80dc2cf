/* SPDX-License-Identifier: MIT */
/*
 * The peak by stack against an exact log: threads whose operations are interleaved at random, and
 * after every operation the true figures are written down. What the reader says must be the
 * figures of one moment of that log, at most (2n + 1) T below the highest.
 */
#include "ledger_build.h"
#include "ledger_sim.h"
#include "unit.h"
#include "profile/ledger_load.h"

enum { ROWS = 6, THREADS_MAX = 5, OPERATIONS = 1500, RUNS = 60, BLOCKS_MAX = 4096 };

struct block {
	uint32_t row;
	uint64_t bytes;
};

static struct built_ledger ledger;
static struct sim_thread threads[THREADS_MAX];
static struct block blocks[BLOCKS_MAX];
static unsigned block_count;
static int64_t live[ROWS];
static int64_t logged[OPERATIONS + 1][ROWS];
static unsigned log_count;
static uint32_t first_row;

static void build(unsigned thread_count)
{
	built_init(&ledger, &built_small);
	first_row = 0;
	for (uint32_t i = 0; i < ROWS; i++) {
		uint32_t leaf = built_node(&ledger, 0, 0, 0x1000 + i);
		uint32_t id = built_row(&ledger, built_context(&ledger, leaf, 0), 0);

		first_row = first_row ? first_row : id;
	}
	for (unsigned i = 0; i < thread_count; i++)
		sim_thread_init(&threads[i], &ledger, 1); /* two slots: flushes all the time */
	block_count = 0;
	log_count = 1;
	memset(live, 0, sizeof(live));
	memset(logged, 0, sizeof(logged));
}

static void note(void)
{
	memcpy(logged[log_count++], live, sizeof(live));
}

static void allocate(struct sim_thread *thread, unsigned *seed)
{
	struct block block = {
		.row = (uint32_t)rand_r(seed) % ROWS,
		.bytes = 1 + (uint64_t)rand_r(seed) % 5000,
	};

	live[block.row] += (int64_t)block.bytes;
	sim_alloc(thread, first_row + block.row, block.bytes);
	blocks[block_count++] = block;
	note();
}

static void release(struct sim_thread *thread, unsigned *seed)
{
	unsigned i = (unsigned)rand_r(seed) % block_count;
	struct block block = blocks[i];

	blocks[i] = blocks[--block_count];
	live[block.row] -= (int64_t)block.bytes;
	sim_free(thread, first_row + block.row, block.bytes);
	note();
}

/* Rising and falling in waves, so that there are many peaks and many near misses. */
static void operate(unsigned thread_count, unsigned *seed)
{
	unsigned bias = 50;

	for (unsigned i = 0; i < OPERATIONS; i++) {
		struct sim_thread *thread = &threads[(unsigned)rand_r(seed) % thread_count];

		if (rand_r(seed) % 40 == 0)
			bias = 20 + (unsigned)rand_r(seed) % 60;
		if (block_count == 0 || (unsigned)rand_r(seed) % 100 < bias)
			allocate(thread, seed);
		else
			release(thread, seed);
	}
}

static int64_t total(const int64_t *figures)
{
	int64_t sum = 0;

	for (int i = 0; i < ROWS; i++)
		sum += figures[i];
	return sum;
}

static int64_t true_peak(void)
{
	int64_t peak = 0;

	for (unsigned i = 0; i < log_count; i++)
		if (total(logged[i]) > peak)
			peak = total(logged[i]);
	return peak;
}

static bool is_in_log(const int64_t *figures)
{
	for (unsigned i = 0; i < log_count; i++)
		if (memcmp(logged[i], figures, sizeof(logged[i])) == 0)
			return true;
	return false;
}

static void check(unsigned thread_count, bool read_live)
{
	struct seep_profile *profile = NULL;
	int64_t figures[ROWS] = { 0 };
	int64_t peak = true_peak();

	assert_int_equal(seep_profile_load_ledger_memory(ledger.map, ledger.bytes, read_live,
							 &profile, NULL),
			 0);
	for (uint32_t i = 0; i < profile->context_count; i++)
		figures[profile->contexts[i].id - 1 - LEDGER_CONTEXT_FIRST] =
			(int64_t)profile->contexts[i].peak_bytes;
	assert_int_equal(total(figures), profile->totals.peak_bytes);
	assert_int_equal(total(live), profile->totals.live_bytes);
	assert_true(is_in_log(figures));
	assert_int_equal(profile->totals.peak_exact, thread_count == 1);
	if (thread_count == 1)
		assert_int_equal(profile->totals.peak_error_bytes, 0);
	assert_in_range(total(figures), peak - (int64_t)profile->totals.peak_error_bytes, peak);
	seep_profile_free(profile);
}

static void run(unsigned thread_count)
{
	for (unsigned i = 0; i < RUNS; i++) {
		unsigned seed = i + 1;

		build(thread_count);
		operate(thread_count, &seed);
		check(thread_count, false);
		check(thread_count, true);
		built_done(&ledger);
	}
}

TEST(one_thread_has_an_exact_peak)
{
	run(1);
}

TEST(several_threads_have_a_peak_within_the_bound)
{
	run(2);
	run(THREADS_MAX);
}

TEST(a_heap_that_only_grows_peaks_now)
{
	unsigned seed = 3;

	build(1);
	for (int i = 0; i < 100; i++)
		allocate(&threads[0], &seed);
	assert_int_equal(ledger.control->peak_turn, 0);
	check(1, false);
	built_done(&ledger);
}

TEST(the_bound_follows_threads_and_size)
{
	static const struct {
		uint32_t caches;
		int64_t peak;
		uint64_t error;
	} cases[] = {
		{ 0, 1 << 20, 0 },
		{ 1, 1 << 20, 0 },
		{ 2, 1 << 20, 5 * 1024 },
		{ 2, 1 << 30, 5 * 65536 },
		/* As many caches as err most: T falls while they are handed out. */
		{ 16, 64 << 20, 5 * 32768 },
		{ 1000, 1 << 20, 33 * 1024 },
		{ 50000, 28800, 2 * 2048 + 256 },
		{ 2, 4096, 5 * 256 },
		{ 50000, 60, 2 * 7 + 3 },
		{ 2, 1ll << 40, 5 * 65536 },
		{ 4, 0, 0 },
		{ 4, -5, 0 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct seep_profile *profile = NULL;

		build(1);
		ledger.control->caches = cases[i].caches;
		ledger.state->peak_bytes = cases[i].peak;
		assert_int_equal(seep_profile_load_ledger_memory(ledger.map, ledger.bytes, false,
								 &profile, NULL),
				 0);
		assert_int_equal(profile->totals.peak_error_bytes, cases[i].error);
		assert_int_equal(profile->totals.peak_exact, cases[i].error == 0);
		seep_profile_free(profile);
		built_done(&ledger);
	}
}
