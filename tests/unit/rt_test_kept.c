/* SPDX-License-Identifier: MIT */
/* Walks that are put aside and recalled: they have the same frames, and nodes where they may. */
#include "runtime/sys/rt_facts.c"
#include "runtime/sys/sys.c"
#include "runtime/unwind/kept.c"
#include "runtime/unwind/memory.c"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

enum { DEEP = 500 };

struct rt_global rt_global;
struct rt_mine rt_mine;

static struct rt_walk walk;
static rt_kept_frame kept[DEEP], again[DEEP];

static int begin(void **unused)
{
	(void)unused;
	walk = (struct rt_walk){ 0 };
	assert_true(rt_walk_start(&walk, NULL));
	return 0;
}

/* One whose frames are new: innermost @leaf, the others by their depth. */
static void walk_anew(uint32_t count, uintptr_t leaf, rt_rule leaf_rule)
{
	while (walk.fresh[-1].ra_at < count)
		assert_true(rt_fresh_grow(&walk));
	for (uint32_t i = 0; i < count; i++)
		walk.fresh[i] = (struct rt_fresh){ .ra = 0x1000 + count - 1 - i };
	walk.fresh[0] = (struct rt_fresh){ .ra = leaf, .rule = leaf_rule };
	walk.stored = false;
	walk.base = 0;
	walk.fresh_count = count;
}

static void check(uint32_t count, uintptr_t leaf)
{
	bool exact;

	assert_int_equal(rt_walk_length(&walk), count);
	for (uint32_t i = 0; i + 1 < count; i++)
		assert_int_equal(rt_walk_address(&walk, i, &exact), 0x1000 + i);
	assert_int_equal(rt_walk_address(&walk, count - 1, &exact), leaf);
}

static void a_walk_is_recalled_as_it_was(void **unused)
{
	static const uint32_t counts[] = { 1, 2, 29, 30, 31, 200, DEEP };

	(void)unused;
	for (unsigned i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		walk_anew(counts[i], 0x77, 0);
		assert_true(rt_walk_keep(&walk, kept));
		assert_true(rt_walk_recall(&walk, kept, counts[i], i & 1));
		check(counts[i], 0x77);
		assert_int_equal(walk.truncated, i & 1);
		assert_true(rt_walk_keep(&walk, again));
		assert_memory_equal(kept, again, counts[i] * sizeof(*kept));
	}
}

static void frames_in_common_keep_their_nodes(void **unused)
{
	(void)unused;
	walk_anew(10, 0x77, 0);
	assert_true(rt_walk_keep(&walk, kept));
	assert_true(rt_walk_recall(&walk, kept, 10, false));
	for (uint32_t i = 0; i < 10; i++)
		walk.now->frames[i].node = i + 1;
	walk_anew(12, 0x88, 0);
	assert_true(rt_walk_keep(&walk, kept));
	assert_true(rt_walk_recall(&walk, kept, 12, false));
	check(12, 0x88);
	for (uint32_t i = 0; i < 12; i++)
		assert_int_equal(walk.now->frames[i].node, i < 9 ? i + 1 : 0);
}

static void what_a_signal_interrupted_stays_so(void **unused)
{
	bool exact;

	(void)unused;
	walk_anew(5, 0x77, RT_RULE_EXACT);
	assert_true(rt_walk_keep(&walk, kept));
	walk_anew(7, 0x88, 0);
	assert_true(rt_walk_recall(&walk, kept, 5, false));
	check(5, 0x77);
	assert_false(walk.stored);
	assert_int_equal(rt_walk_address(&walk, 4, &exact), 0x77);
	assert_true(exact);
}

static void where_a_frame_pointer_led_is_known(void **unused)
{
	(void)unused;
	walk_anew(5, 0x77, rt_rule_pack(RT_RULE_FOLLOWS_FP, RT_RULE_USES_FP, 16, -16));
	assert_true(rt_walk_keep(&walk, kept));
	assert_true(rt_walk_recall(&walk, kept, 5, false));
	check(5, 0x77);
	assert_int_equal(rt_rule_kind(walk.fresh[0].rule), RT_RULE_FOLLOWS_FP);
	/* Go promises it. */
	walk_anew(5, 0x77, RT_RULE_FOLLOWS_FP | RT_RULE_GO);
	assert_true(rt_walk_keep(&walk, kept));
	assert_int_equal(kept[4], 0x77);
}

static void what_is_no_address_is_not_kept(void **unused)
{
	(void)unused;
	walk_anew(5, UINTPTR_MAX, 0);
	assert_false(rt_walk_keep(&walk, kept));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup(name, begin)
		TEST(a_walk_is_recalled_as_it_was),	  TEST(frames_in_common_keep_their_nodes),
		TEST(what_a_signal_interrupted_stays_so), TEST(where_a_frame_pointer_led_is_known),
		TEST(what_is_no_address_is_not_kept),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
