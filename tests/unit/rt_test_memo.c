/* SPDX-License-Identifier: MIT */
/* A memo says what was put, or nothing: also while another thread puts, grows and empties. */
#include "runtime/sys/memo.c"
#include "runtime/sys/rt_facts.c"
#include "runtime/sys/sys.c"

#include "unit.h"

#include <pthread.h>

enum { KEYS = 20000, MOST_BYTES = 1 << 20, ROUNDS = 200 };

struct rt_global rt_global;
struct rt_mine rt_mine;

static struct ledger_state totals;
static rt_memo memo;

static int begin(void **state)
{
	(void)state;
	rt_global.state = &totals;
	rt_store(&memo, NULL);
	return 0;
}

static uint64_t key_of(uint64_t i)
{
	return core_hash_step(7, i) | 1;
}

/* Says its key, so that another's is recognised. */
static uint64_t value_of(uint64_t i)
{
	return i << 32 | 5;
}

static uint64_t fill(uint64_t count, uint64_t generation, uint64_t most_bytes)
{
	uint64_t found = 0;

	for (uint64_t i = 0; i < count; i++)
		rt_memo_put(&memo, key_of(i), value_of(i), generation, most_bytes);
	for (uint64_t i = 0; i < count; i++) {
		uint64_t value = rt_memo_find(&memo, key_of(i));

		assert_true(value == value_of(i) || value == 0);
		found += value != 0;
	}
	return found;
}

static uint64_t buckets_now(void)
{
	return buckets_of(rt_load(&memo));
}

#define MEMO_TEST(name) TEST_WITH(begin, name, NULL)

MEMO_TEST(what_was_put_is_found)
{
	assert_int_equal(rt_memo_find(&memo, key_of(1)), 0);
	/* But for a few whose buckets were all taken. */
	assert_true(fill(KEYS, 1, MOST_BYTES) > KEYS - KEYS / 500);
	assert_true(buckets_now() > KEYS);
	rt_memo_put(&memo, key_of(1), 3, 1, MOST_BYTES);
	assert_int_equal(rt_memo_find(&memo, key_of(1)), 3);
	rt_memo_empty(&memo);
	assert_int_equal(rt_memo_find(&memo, key_of(1)), 0);
}

MEMO_TEST(another_generation_takes_the_same_table)
{
	struct rt_memo_table *table;

	(void)fill(KEYS, 1, MOST_BYTES);
	table = rt_load(&memo);
	for (uint64_t generation = 2; generation < 10; generation++)
		assert_true(fill(KEYS, generation, MOST_BYTES) > 0);
	assert_ptr_equal(rt_load(&memo), table);
}

MEMO_TEST(the_largest_table_begins_anew)
{
	(void)fill(KEYS * 10, 1, MOST_BYTES);
	assert_true(buckets_now() * sizeof(struct rt_memo_bucket) <= MOST_BYTES);
	rt_memo_put(&memo, key_of(1), 3, 1, MOST_BYTES);
	assert_int_equal(rt_memo_find(&memo, key_of(1)), 3);
}

/* Only what is mapped and in use counts: of tables that gave way, nothing. */
MEMO_TEST(the_bytes_of_the_present_table_are_counted)
{
	rt_count_private(0);
	rt_count_private(-(int64_t)rt_load(&totals.private_bytes));
	(void)fill(KEYS, 1, MOST_BYTES);
	assert_int_equal(rt_load(&totals.private_bytes), bytes_of(buckets_now()));
}

/* As a thread leaves it that stops between its two stores, or two threads that share a bucket. */
MEMO_TEST(a_bucket_half_written_answers_to_nobody)
{
	struct rt_memo_table *table;

	(void)fill(100, 1, MOST_BYTES);
	table = rt_load(&memo);
	for (uint64_t i = 0; i < buckets_of(table); i++)
		if (rt_load(&table->buckets[i].check))
			rt_store(&table->buckets[i].value, value_of(KEYS + i));
	for (uint64_t i = 0; i < 100; i++)
		assert_int_equal(rt_memo_find(&memo, key_of(i)), 0);
	assert_int_equal(fill(100, 1, MOST_BYTES), 100);
}

static void *put_for_ever(void *begin_at)
{
	for (unsigned round = 0; round < ROUNDS; round++) {
		for (uint64_t i = 0; i < KEYS / 10; i++) {
			uint64_t which = (i + (uintptr_t)begin_at) % KEYS;

			rt_memo_put(&memo, key_of(which), value_of(which), round / 2, MOST_BYTES);
		}
		if (round % 16 == 0)
			rt_memo_empty(&memo);
	}
	return NULL;
}

MEMO_TEST(threads_find_no_value_of_another_key)
{
	pthread_t threads[2];
	uint64_t found = 0;

	for (uintptr_t i = 0; i < 2; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, put_for_ever, (void *)(i * 500)),
				 0);
	/* Where processors are few the others may run after this: what they leave is found. */
	for (unsigned round = 0; round < ROUNDS || !found; round++)
		for (uint64_t i = 0; i < KEYS; i++) {
			uint64_t value = rt_memo_find(&memo, key_of(i));

			found += value != 0;
			assert_true(value == value_of(i) || value == 0);
		}
	for (unsigned i = 0; i < 2; i++)
		assert_int_equal(pthread_join(threads[i], NULL), 0);
	assert_true(found > 0);
}
