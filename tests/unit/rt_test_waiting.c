/* SPDX-License-Identifier: MIT */
/* What was freed waits in turn, until as much came after it; and what a look or a lack of memory does. */
#include "runtime/guard/waiting.c"
#include "runtime/sys/rt_facts.c"
#include "runtime/sys/sys.c"

#include "unit.h"

enum { PLACES = 1024, PLACE_BYTES = 100, BLOCKS = 3 * PLACES };

struct rt_global rt_global;
struct rt_mine rt_mine;
__thread struct rt_tls rt_tls;

static struct ledger_state totals;
static char blocks[BLOCKS];
static size_t left[BLOCKS]; /* the numbers of those that left */
static size_t left_count, looked_at;

static void note_leaving(void *block)
{
	left[left_count++] = (size_t)((char *)block - blocks);
}

static bool look_and_keep(void *block)
{
	(void)block;
	looked_at++;
	return true;
}

static bool look_and_drop(void *block)
{
	(void)block;
	looked_at++;
	return false;
}

static int begin(void **state)
{
	(void)state;
	rt_global.state = &totals;
	rt_tls.waits = 0;
	left_count = looked_at = 0;
	next = kept_from = own_from = 0;
	assert_true(rt_waiting_start(PLACES, PLACE_BYTES, note_leaving));
	return 0;
}

static void put(size_t from, size_t to, uint64_t bytes)
{
	for (size_t i = from; i < to; i++)
		rt_waiting_put(&blocks[i], bytes);
}

#define WAITING_TEST(name) TEST_WITH(begin, name, NULL)

/* Within a batch of another round its place is another one. */
WAITING_TEST(a_block_waits_until_as_much_came_after_it)
{
	put(0, PLACES, PLACE_BYTES);
	assert_int_equal(left_count, 0);
	put(PLACES, BLOCKS, PLACE_BYTES);
	assert_int_equal(left_count, BLOCKS - PLACES);
	for (size_t i = 0; i < left_count; i++)
		assert_in_range(left[i] + RT_WAITING_BATCH, i, i + 2 * RT_WAITING_BATCH);
}

WAITING_TEST(a_large_block_takes_as_many_places)
{
	put(0, PLACES, PLACE_BYTES);
	put(PLACES, PLACES + 1, 320 * PLACE_BYTES);
	assert_int_equal(left_count, 320);
	put(PLACES + 1, 2 * PLACES - 319, 1);
	assert_int_equal(left_count, PLACES);
	put(2 * PLACES - 319, 2 * PLACES + 1, 1);
	assert_int_equal(left[PLACES], PLACES);
	assert_int_equal(left_count, PLACES + 1);
}

WAITING_TEST(what_is_taken_out_waits_no_longer)
{
	put(0, 10, 1);
	assert_true(rt_waiting_take(&blocks[4]));
	assert_false(rt_waiting_take(&blocks[4]));
	assert_false(rt_waiting_take(&blocks[10]));
}

WAITING_TEST(all_is_given_back_and_no_place_looked_at_twice)
{
	put(0, BLOCKS, 1);
	while (rt_waiting_give_back())
		;
	assert_int_equal(left_count, BLOCKS);
	assert_int_equal(kept_from, next);
	put(0, 1, 1);
	assert_true(rt_waiting_give_back());
	assert_false(rt_waiting_give_back());
}

WAITING_TEST(a_look_keeps_what_is_well)
{
	put(0, 100, 1);
	rt_waiting_look(look_and_keep);
	rt_waiting_look(look_and_drop);
	rt_waiting_look(look_and_drop);
	assert_int_equal(looked_at, 200);
	assert_int_equal(left_count, 0);
}

WAITING_TEST(a_forked_child_looks_at_what_it_has_put)
{
	put(0, PLACES, 1);
	rt_waiting_forked();
	put(PLACES, PLACES + 40, 1);
	assert_int_equal(left_count, 40);
	rt_waiting_look(look_and_keep);
	assert_in_range(looked_at, 40, 40 + RT_WAITING_BATCH);
}
