/* SPDX-License-Identifier: MIT */
/*
 * The table of a thread's shortcuts: what it finds again, and how large it becomes. The runtime's
 * own source, with walks made by hand.
 */
#include "runtime/sys/rt_facts.c"
#include "runtime/sys/sys.c"
#include "runtime/unwind/shortcut.c"

#include <setjmp.h>
#include <stdarg.h>
#include <sys/resource.h>

#include <cmocka.h>

enum { PLACES = 4096, MANY = RT_FEW_THREADS + 1, ROW = 7 };

struct rt_global rt_global;
struct rt_mine rt_mine;
_Atomic uint32_t rt_generation;

static struct ledger_control control;
static struct ledger_state state;

/* Hook frames: the caller's frame pointer and the return address, one place after the other. */
static uintptr_t frames[PLACES][2];
/* The frame where every walk lands, and its word. */
static uintptr_t landing_word = 0x1234;
static struct rt_frame remembered[1];
static struct rt_memory memory = { .count = 1, .frames = remembered };
/* Before the words, as in every memory, some that always hold. */
static struct rt_word words[RT_WORDS_BEFORE + 2];
static struct rt_walk walk;

static int begin(void **unused)
{
	static const uintptr_t zero;

	(void)unused;
	rt_global.control = &control;
	rt_global.state = &state;
	for (unsigned i = 0; i < RT_WORDS_BEFORE; i++)
		words[i] = (struct rt_word){ (uintptr_t)&zero, 0 };
	memory.words = words + RT_WORDS_BEFORE;
	walk = (struct rt_walk){ .now = &memory, .base = 1, .landed = true, .stored = true };
	walk.words = memory.words;
	walk.last_word = 1;
	memory.words[0] = (struct rt_word){ (uintptr_t)&landing_word, landing_word };
	remembered[0] = (struct rt_frame){ .ra_at = (uintptr_t)&landing_word, .hash = 5 };
	return 0;
}

static int end(void **unused)
{
	(void)unused;
	if (walk.shortcuts)
		rt_munmap(walk.shortcuts, walk.shortcuts->map_bytes);
	return 0;
}

static void offer(unsigned place)
{
	const struct rt_outcome outcome = { .row = ROW };

	frames[place][1] = place + 1;
	walk.leaf = (uintptr_t)&frames[place][1];
	memory.words[1] = (struct rt_word){ walk.leaf, place + 1 };
	rt_shortcut_offer(&walk, frames[place], &outcome);
}

static void offer_from_everywhere(void)
{
	for (unsigned round = 0; round < 8; round++)
		for (unsigned i = 0; i < PLACES; i++)
			offer(i);
}

static uint64_t entries(void)
{
	return walk.shortcuts ? (uint64_t)RT_SHORTCUT_WAYS << (64 - walk.shortcuts->shift) : 0;
}

static void a_walk_is_found_again_while_its_words_hold(void **unused)
{
	const struct rt_shortcut *found;

	(void)unused;
	for (unsigned i = 0; i < ONE_IN; i++)
		offer(1);
	found = rt_shortcut_find(&walk, frames[1]);
	assert_int_equal(found ? found->outcome.row : 0, ROW);
	assert_null(rt_shortcut_find(&walk, frames[2]));
	frames[1][1]++;
	assert_null(rt_shortcut_find(&walk, frames[1]));
	frames[1][1]--;
	assert_non_null(rt_shortcut_find(&walk, frames[1]));
	memory.count = 0;
	assert_null(rt_shortcut_find(&walk, frames[1]));
	memory.count = 1;
}

static void a_few_threads_get_large_tables(void **unused)
{
	(void)unused;
	rt_store(&control.caches, RT_FEW_THREADS);
	offer_from_everywhere();
	assert_int_equal(entries(), 1024);
	assert_true(walk.shortcuts->map_bytes <= 192 << 10);
}

static void each_of_many_threads_gets_a_quarter_of_that(void **unused)
{
	(void)unused;
	rt_store(&control.caches, MANY);
	offer_from_everywhere();
	assert_int_equal(entries(), 256);
	assert_true(walk.shortcuts->map_bytes <= 48 << 10);
}

static void a_table_for_which_there_is_no_memory_is_not_asked_for_at_each_walk(void **unused)
{
	struct rlimit before, none;

	(void)unused;
	rt_store(&control.caches, 1);
	for (unsigned i = 0; !walk.shortcuts || walk.shortcuts->replaced < entries(); i++)
		offer(i % PLACES);
	assert_int_equal(getrlimit(RLIMIT_AS, &before), 0);
	none = before;
	none.rlim_cur = 0;
	assert_int_equal(setrlimit(RLIMIT_AS, &none), 0);
	offer(0);
	assert_int_equal(setrlimit(RLIMIT_AS, &before), 0);
	assert_int_equal(entries(), 64);
	/* As many have to give way once more. */
	offer(0);
	assert_int_equal(entries(), 64);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
		TEST(a_walk_is_found_again_while_its_words_hold),
		TEST(a_few_threads_get_large_tables),
		TEST(each_of_many_threads_gets_a_quarter_of_that),
		TEST(a_table_for_which_there_is_no_memory_is_not_asked_for_at_each_walk),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
