/* SPDX-License-Identifier: MIT */
/*
 * The table of a thread's predictions: what it finds again, when it gives up, and how large it
 * becomes. The runtime's own source, with walks made by hand.
 */
#include "runtime/sys/rt_facts.c"
#include "runtime/sys/sys.c"
#include "runtime/unwind/predict.c"

#include "unit.h"

#include <sys/resource.h>

enum { PLACES = 4096, ROW = 7, KEY = 3, EPOCH = 2 };

struct rt_global rt_global;
_Atomic uint32_t rt_threads;
struct rt_mine rt_mine;
_Atomic uint32_t rt_generation;

static struct ledger_control control;
static struct ledger_state totals;

/* Hook frames: the caller's frame pointer and the return address, one place after the other. */
static uintptr_t frames[PLACES][2];
/* Words that walks read on their way, the last of the frame where they land. */
static uintptr_t on_stack[RT_PEEK_WORDS] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 };
static uintptr_t outer_word = 0x1234;
static struct rt_frame remembered[1];
static struct rt_remembered walked = { .count = 1, .frames = remembered };
/* Before the words, as in every memory, some that always hold. */
static struct rt_word words[RT_WORDS_BEFORE + 1];
static struct rt_walk walk;

static int begin(void **state)
{
	static const uintptr_t zero;

	(void)state;
	rt_global.control = &control;
	rt_global.state = &totals;
	for (unsigned i = 0; i < RT_WORDS_BEFORE; i++)
		words[i] = (struct rt_word){ (uintptr_t)&zero, 0 };
	walked.words = words + RT_WORDS_BEFORE;
	walked.words[0] = (struct rt_word){ (uintptr_t)&outer_word, outer_word };
	walked.count = 1;
	rt_store(&rt_threads, 1);
	walk = (struct rt_walk){ .now = &walked, .not_noted = NOT_NOTED };
	return 0;
}

static int end(void **state)
{
	(void)state;
	if (walk.predictions)
		rt_munmap(walk.predictions, walk.predictions->map_bytes);
	return 0;
}

/* A peek from @place reads @count words, and lands where the last of them is. */
static void learn(unsigned place, uint32_t count)
{
	struct rt_peek peek = { .hash = 5, .steps = count - 1, .words = count };

	frames[place][1] = place + 1;
	peek.word[0] = (struct rt_word){ (uintptr_t)&frames[place][1], place + 1 };
	for (uint32_t i = 1; i < count && i < RT_PEEK_WORDS; i++)
		peek.word[i] = (struct rt_word){ (uintptr_t)&on_stack[i], on_stack[i] };
	remembered[0] = (struct rt_frame){ .ra_at = (uintptr_t)&on_stack[count - 1],
					   .hash = 5,
					   .words = 1 };
	rt_predict_learn(&walk, frames[place], &peek, (struct rt_outcome){ KEY, EPOCH, ROW });
}

static const struct rt_prediction *predict(unsigned place)
{
	return rt_predict(&walk, frames[place], KEY, EPOCH);
}

#define PREDICT_TEST(name) TEST_WITH(begin, name, end)

PREDICT_TEST(holds_as_long_as_every_word_does)
{
	for (uint32_t count = 2; count <= RT_PEEK_WORDS; count++) {
		learn(1, count);
		assert_non_null(predict(1));
		assert_int_equal(predict(1)->outcome.row, ROW);
		for (uint32_t i = 1; i < count; i++) {
			on_stack[i]++;
			assert_null(predict(1));
			on_stack[i]--;
		}
		outer_word++;
		assert_null(predict(1));
		outer_word--;
		assert_non_null(predict(1));
	}
}

PREDICT_TEST(is_of_one_place_kind_epoch_and_generation)
{
	const struct rt_prediction *place;

	learn(1, 3);
	frames[2][1] = 2;
	assert_null(predict(2));
	assert_null(rt_predict(&walk, frames[1], KEY + 1, EPOCH));
	assert_null(rt_predict(&walk, frames[1], KEY, EPOCH + 1));
	/* Beside another row before, which most often leads to another entry. */
	for (place = rt_prediction_place(walk.predictions, 0, frames[1]);
	     rt_prediction_place(walk.predictions, walk.previous, frames[1]) == place;)
		walk.previous++;
	assert_null(predict(1));
	walk.previous = 0;
	assert_non_null(predict(1));
	rt_store(&rt_generation, 1);
	assert_null(predict(1));
	rt_store(&rt_generation, 0);
	assert_non_null(predict(1));
}

PREDICT_TEST(lands_on_what_is_remembered_now)
{
	learn(1, 3);
	walked.count = 0;
	assert_null(predict(1));
	walked.count = 1;
	remembered[0].hash++;
	assert_null(predict(1));
	remembered[0].hash--;
	remembered[0].ra_at += 8;
	assert_null(predict(1));
	remembered[0].ra_at -= 8;
	assert_non_null(predict(1));
	remembered[0].rule = RT_RULE_NEEDS_FP;
	remembered[0].fp++;
	assert_null(predict(1));
}

PREDICT_TEST(a_longer_way_is_not_kept)
{
	learn(1, RT_PEEK_WORDS + 1);
	assert_null(predict(1));
}

PREDICT_TEST(pauses_where_it_is_in_vain)
{
	learn(1, 3);
	on_stack[1]++;
	for (unsigned i = 0; i <= RT_PREDICT_PATIENCE; i++)
		assert_null(predict(1));
	on_stack[1]--;
	for (unsigned i = 0; i < RT_PREDICT_PAUSE; i++)
		assert_null(predict(1));
	assert_non_null(predict(1));
}

static uint64_t entries(void)
{
	return walk.predictions ? UINT64_C(1) << (64 - walk.predictions->shift) : 0;
}

static void learn_all(void)
{
	for (unsigned round = 0; round < 8; round++)
		for (unsigned i = 0; i < PLACES; i++)
			learn(i, 3);
}

PREDICT_TEST(a_thread_that_allocates_little_has_no_table)
{
	walk.not_noted = 0;
	for (unsigned i = 0; i < NOT_NOTED; i++)
		learn(1, 3);
	assert_null(walk.predictions);
	learn(1, 3);
	assert_non_null(predict(1));
}

PREDICT_TEST(grows_while_entries_drive_each_other_out)
{
	uint64_t before = 0;

	for (unsigned i = 0; i < PLACES; i++) {
		learn(i, 3);
		if (entries() == before)
			continue;
		assert_int_equal(entries(), before ? before << LOG2_STEP : 1 << LOG2_FIRST);
		before = entries();
		if (before << LOG2_STEP > 1 << LOG2_LAST)
			break;
	}
	learn_all();
	assert_int_equal(entries(), 1 << LOG2_LAST);
}

PREDICT_TEST(has_half_as_many_where_threads_are_twice_as_many)
{
	static const struct {
		uint32_t threads, entries;
	} most[] = { { RT_FEW_THREADS, 2048 },
		     { RT_FEW_THREADS + 1, 1024 },
		     { 64, 512 },
		     { 1000, 32 },
		     { 100000, 16 } };

	for (unsigned i = 0; i < sizeof(most) / sizeof(most[0]); i++) {
		begin(state);
		rt_store(&rt_threads, most[i].threads);
		learn_all();
		assert_int_equal(entries(), most[i].entries);
		end(state);
		walk.predictions = NULL;
	}
}

PREDICT_TEST(stops_growing_when_threads_become_many)
{
	for (unsigned i = 0; entries() < 128; i++)
		learn(i, 3);
	rt_store(&rt_threads, 1000);
	learn_all();
	assert_int_equal(entries(), 128);
}

PREDICT_TEST(what_is_learned_again_replaces_nothing)
{
	for (unsigned i = 0; i < PLACES; i++)
		learn(1, 3);
	assert_int_equal(walk.predictions->replaced, 0);
}

PREDICT_TEST(goes_on_without_memory)
{
	struct rlimit old, none;

	assert_int_equal(getrlimit(RLIMIT_AS, &old), 0);
	none = old;
	none.rlim_cur = 1 << 20;
	assert_int_equal(setrlimit(RLIMIT_AS, &none), 0);
	/* What is left in the pool. */
	while (rt_mmap(1))
		;
	learn(1, 3);
	assert_int_equal(setrlimit(RLIMIT_AS, &old), 0);
	assert_null(predict(1));
}
