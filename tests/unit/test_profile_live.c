/* SPDX-License-Identifier: MIT */
/*
 * The reader against writers that never stop. Each writer tells how far it is before and after
 * every operation, so each reading has an exact lower and upper bound, and what is flushed from
 * slot to row must neither be missed nor counted twice.
 */
#include "ledger_build.h"
#include "ledger_sim.h"
#include "unit.h"
#include "profile/ledger_load.h"

#include <pthread.h>
#include <time.h>

enum { WRITERS = 3, ROWS = 24, BLOCK_BYTES = 64, SECONDS = 1, NS_PER_S = 1000000000 };

struct writer {
	struct sim_thread books;
	pthread_t thread;
	uint32_t first_row;
	unsigned seed;
	_Alignas(64) _Atomic uint64_t begun[ROWS];
	_Alignas(64) _Atomic uint64_t done[ROWS];
};

static struct built_ledger ledger;
static struct writer writers[WRITERS];
static _Atomic bool stop;

static uint64_t now_ns(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

/* Allocates twice, frees once: what lives only grows, whatever the order of reading. */
static void *write_books(void *argument)
{
	struct writer *w = argument;

	while (!atomic_load(&stop)) {
		uint32_t row = (uint32_t)rand_r(&w->seed) % ROWS;

		atomic_fetch_add(&w->begun[row], 1);
		sim_alloc(&w->books, w->first_row + row, BLOCK_BYTES);
		sim_alloc(&w->books, w->first_row + row, BLOCK_BYTES);
		sim_free(&w->books, w->first_row + row, BLOCK_BYTES);
		atomic_fetch_add(&w->done[row], 1);
	}
	return NULL;
}

static uint64_t sum(bool done, uint32_t row)
{
	uint64_t total = 0;

	for (int i = 0; i < WRITERS; i++)
		total += atomic_load(done ? &writers[i].done[row] : &writers[i].begun[row]);
	return total;
}

static void build(uint32_t slots_log2)
{
	uint32_t first_row = 0;

	built_init(&ledger, &built_small);
	for (uint32_t i = 0; i < ROWS; i++) {
		uint32_t leaf = built_node(&ledger, 0, 0, 0x1000 + i);
		uint32_t id = built_row(&ledger, built_context(&ledger, leaf, 0), 0);

		first_row = first_row ? first_row : id;
	}
	memset(writers, 0, sizeof(writers));
	atomic_store(&stop, false);
	for (unsigned i = 0; i < WRITERS; i++) {
		sim_thread_init(&writers[i].books, &ledger, slots_log2);
		writers[i].first_row = first_row;
		writers[i].seed = i + 1;
	}
}

static void start(void)
{
	for (int i = 0; i < WRITERS; i++)
		assert_int_equal(pthread_create(&writers[i].thread, NULL, write_books, &writers[i]),
				 0);
}

static void finish(void)
{
	atomic_store(&stop, true);
	for (int i = 0; i < WRITERS; i++)
		assert_int_equal(pthread_join(writers[i].thread, NULL), 0);
}

static struct seep_profile *read_ledger(bool live)
{
	struct seep_profile *profile = NULL;
	struct seep_error err = { 0 };

	if (seep_profile_load_ledger_memory(ledger.map, ledger.bytes, live, &profile, &err) != 0)
		fail_msg("%s", err.text);
	return profile;
}

/* One reading against what every writer had done before it and begun after it. */
static unsigned check_reading(void)
{
	uint64_t before[ROWS];
	struct seep_profile *profile;
	unsigned in_doubt = 0;

	for (uint32_t i = 0; i < ROWS; i++)
		before[i] = sum(true, i);
	profile = read_ledger(true);
	for (uint32_t i = 0; i < profile->context_count; i++) {
		const struct seep_profile_context *context = &profile->contexts[i];
		uint32_t row = context->id - 1 - LEDGER_CONTEXT_FIRST;
		uint64_t after = sum(false, row);

		if (context->in_doubt) {
			in_doubt++;
			continue;
		}
		assert_in_range(context->allocs, 2 * before[row], 2 * after);
		assert_in_range(context->frees, before[row], after);
		assert_in_range(context->alloc_bytes, BLOCK_BYTES * 2 * before[row],
				BLOCK_BYTES * 2 * after);
		assert_in_range(context->live_blocks, 0, after + WRITERS);
	}
	seep_profile_free(profile);
	return in_doubt;
}

static void check_end(void)
{
	struct seep_profile *profile = read_ledger(false);

	for (uint32_t i = 0; i < profile->context_count; i++) {
		const struct seep_profile_context *context = &profile->contexts[i];
		uint64_t done = sum(true, context->id - 1 - LEDGER_CONTEXT_FIRST);

		assert_int_equal(context->allocs, 2 * done);
		assert_int_equal(context->frees, done);
		assert_int_equal(context->live_bytes, BLOCK_BYTES * done);
		assert_false(context->in_doubt);
	}
	assert_int_equal(profile->totals.in_doubt, 0);
	seep_profile_free(profile);
}

static void torture(uint32_t slots_log2)
{
	uint64_t end = now_ns() + (uint64_t)SECONDS * NS_PER_S;
	unsigned readings = 0;
	unsigned in_doubt = 0;

	build(slots_log2);
	start();
	while (now_ns() < end) {
		in_doubt += check_reading();
		readings++;
	}
	finish();
	check_end();
	print_message("%u readings, %u rows of %u in doubt\n", readings, in_doubt, readings * ROWS);
	assert_true(readings > 0);
	assert_true(in_doubt * 4 < readings * ROWS);
	built_done(&ledger);
}

TEST(counts_that_stay_in_slots_are_read_exactly)
{
	torture(6);
}

/* 24 rows in 8 slots: nearly every operation flushes another row. */
TEST(counts_in_constant_motion_are_read_exactly)
{
	torture(3);
}

TEST(a_row_that_is_never_at_rest_is_in_doubt_and_costs_little)
{
	struct seep_profile *profile;
	uint64_t begun;

	build(6);
	sim_alloc(&writers[0].books, writers[0].first_row, BLOCK_BYTES);
	sim_alloc(&writers[0].books, writers[0].first_row + 1, BLOCK_BYTES);
	built_row_at(&ledger, writers[0].first_row)->sequence = LEDGER_SEQ_ODD;
	begun = now_ns();
	profile = read_ledger(true);
	assert_true(now_ns() - begun < NS_PER_S);
	assert_int_equal(profile->totals.in_doubt, 1);
	assert_true(profile->contexts[0].in_doubt);
	assert_int_equal(profile->contexts[0].allocs, 1);
	assert_false(profile->contexts[1].in_doubt);
	assert_int_equal(profile->process.ended, SEEP_ENDED_RUNNING);
	seep_profile_free(profile);
	built_done(&ledger);
}
