/* SPDX-License-Identifier: MIT */
/* The lists of ranges that a leak scan reads, and that the library's memory stays few of them. */
#include "runtime/sys/rt_facts.c"
#include "runtime/sys/sys.c"

#include "unit.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct rt_global rt_global;
struct rt_mine rt_mine;

enum { UNIT = 4096, UNITS = 64, THREADS = 4, ROUNDS = 20000 };

static void forget_all(void)
{
	memset(&rt_facts, 0, sizeof(rt_facts));
}

/* How many ranges of @list have a part in [begin, end), and how much of that they cover. */
static unsigned parts_of(const struct list *list, uintptr_t begin, uintptr_t end,
			 uint64_t *ret_bytes)
{
	unsigned parts = 0;

	*ret_bytes = 0;
	for (uint32_t i = 0; i < count_of(list); i++) {
		struct range range = read_range(&list->ranges[i]);
		uint64_t from = range.begin > begin ? range.begin : begin;
		uint64_t to = range.end < end ? range.end : end;

		if (range.begin && from < to) {
			parts++;
			*ret_bytes += to - from;
		}
	}
	return parts;
}

TEST(any_order_of_changes_leaves_what_is_there)
{
	bool there[UNITS] = { false };
	uint64_t seed = 7;

	forget_all();
	for (unsigned i = 0; i < ROUNDS; i++) {
		unsigned unit, count;
		uint64_t covered, want = 0;

		seed = seed * 6364136223846793005u + 1442695040888963407u;
		unit = seed >> 40 & (UNITS - 1);
		count = 1 + (seed >> 50 & 7);
		if (unit + count > UNITS)
			continue;
		if (!there[unit]) {
			for (count = 1; count < 8 && unit + count < UNITS && !there[unit + count];)
				count++;
			rt_facts_own((void *)(uintptr_t)((unit + 1) * UNIT), count * UNIT);
			memset(there + unit, true, count);
		} else {
			rt_facts_disown((void *)(uintptr_t)((unit + 1) * UNIT), count * UNIT);
			memset(there + unit, false, count);
		}
		for (unsigned k = 0; k < UNITS; k++) {
			want += there[k];
			(void)parts_of(&own_list, (k + 1) * UNIT, (k + 2) * UNIT, &covered);
			assert_int_equal(covered, there[k] ? UNIT : 0);
		}
		(void)parts_of(&own_list, 0, UINTPTR_MAX, &covered);
		assert_int_equal(covered, want * UNIT);
	}
}

/* Each thread's units lie between the others': all extend and split the same entries. */
static void *add_and_remove(void *argument)
{
	uintptr_t me = (uintptr_t)argument;

	for (unsigned i = 0; i < ROUNDS; i++) {
		uintptr_t at = (1 + me + (i % UNITS) * THREADS) * UNIT;

		rt_facts_own((void *)at, UNIT);
		if (i % 3)
			rt_facts_disown((void *)at, UNIT);
		else if (i >= 3 * UNITS)
			rt_facts_disown((void *)at, UNIT), rt_facts_own((void *)at, UNIT);
	}
	for (unsigned i = 0; i < UNITS; i++)
		rt_facts_disown((void *)((1 + me + i * THREADS) * UNIT), UNIT);
	if (me)
		rt_facts_own((void *)((1 + me) * UNIT), UNIT);
	return NULL;
}

TEST(threads_lose_nothing_of_each_other)
{
	pthread_t threads[THREADS];
	uint64_t covered;

	forget_all();
	for (uintptr_t i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, add_and_remove, (void *)i), 0);
	for (unsigned i = 0; i < THREADS; i++)
		assert_int_equal(pthread_join(threads[i], NULL), 0);
	(void)parts_of(&own_list, 0, UINTPTR_MAX, &covered);
	assert_int_equal(covered, (THREADS - 1) * UNIT);
}

TEST(a_list_that_is_full_says_so)
{
	forget_all();
	for (uintptr_t i = 1; i <= LEDGER_TAKEN_MAX; i++)
		rt_facts_brk(2 * i * UNIT, (2 * i + 1) * UNIT);
	assert_int_equal(rt_facts.taken_count, LEDGER_TAKEN_MAX);
	for (uintptr_t i = 1; i <= 3; i++)
		rt_facts_brk(i << 40, (i << 40) + UNIT);
	assert_true(rt_facts.taken_count > LEDGER_TAKEN_MAX);
	assert_int_equal(rt_facts.own_count, 0);
}

TEST(a_region_counts_as_often_as_it_was_added)
{
	uint64_t covered;

	forget_all();
	rt_facts_add_region(UNIT, 2 * UNIT);
	rt_facts_add_region(UNIT, 2 * UNIT);
	rt_facts_remove_region(UNIT, 3 * UNIT);
	rt_facts_remove_region(UNIT, 2 * UNIT);
	assert_int_equal(parts_of(&region_list, UNIT, 2 * UNIT, &covered), 1);
	rt_facts_remove_region(UNIT, 2 * UNIT);
	rt_facts_remove_region(UNIT, 2 * UNIT);
	assert_int_equal(parts_of(&region_list, UNIT, 2 * UNIT, &covered), 0);
}

/* As each thread has them, and others' mappings come in between. */
TEST(small_mappings_lie_side_by_side)
{
	enum { MAPPINGS = 3000 };
	static void *mapped[MAPPINGS];
	uint64_t covered;

	forget_all();
	for (unsigned i = 0; i < MAPPINGS; i++) {
		mapped[i] = rt_mmap(15000 * (i % 5 + 1));
		assert_non_null(mapped[i]);
		assert_true(mmap(NULL, UNIT, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) !=
			    MAP_FAILED);
	}
	for (unsigned i = 0; i < MAPPINGS; i++)
		rt_munmap(mapped[i], 15000 * (i % 5 + 1));
	assert_in_range(parts_of(&own_list, 0, UINTPTR_MAX, &covered), 1,
			MAPPINGS * 75000 / REGION_BYTES + 1);
}
