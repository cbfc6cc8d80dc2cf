/* SPDX-License-Identifier: MIT */
/* The room of a thread's walks: what it is at first, what it grows to, what stays when it does. */
#include "runtime/sys/rt_facts.c"
#include "runtime/sys/sys.c"
#include "runtime/unwind/remembered.c"

#include "unit.h"

struct rt_global rt_global;
struct rt_mine rt_mine;

static struct ledger_state totals;
static _Alignas(64) char room[RT_WALK_ROOM_BYTES];
static struct rt_walk walk;

static int begin(void **state)
{
	(void)state;
	rt_global.state = &totals;
	rt_count_private(0);
	rt_count_private(-(int64_t)rt_load(&totals.private_bytes));
	memset(room, 0, sizeof(room));
	walk = (struct rt_walk){ 0 };
	return 0;
}

static bool is_in_room(const void *from, size_t bytes)
{
	return (uintptr_t)from >= (uintptr_t)room &&
	       (uintptr_t)from + bytes <= (uintptr_t)room + sizeof(room);
}

/* Write to all of the present memory; what stands around it is as it was. */
static void fill(void)
{
	struct rt_remembered *now = walk.now;

	for (uint32_t i = 0; i < now->capacity; i++) {
		now->frames[i] = (struct rt_frame){ .ra_at = i + 1, .ra = ~i };
		now->words[2 * i] = now->words[2 * i + 1] = (struct rt_word){ i, i };
	}
	now->words[(size_t)now->capacity * 2] = (struct rt_word){ 1, 1 };
	for (uint32_t i = 0; i < walk.fresh[-1].ra_at; i++)
		walk.fresh[i] = (struct rt_fresh){ .ra = i };
	assert_true(now->frames[-1].ra_at == UINTPTR_MAX);
	for (int i = 1; i <= RT_WORDS_BEFORE; i++)
		assert_true(now->words[-i].at == (uintptr_t)&zero);
	assert_true(walk.fresh[-1].rule == RT_RULE_HOOK);
}

#define WALK_TEST(name) TEST_WITH(begin, name, NULL)

WALK_TEST(at_first_all_is_in_the_room_that_is_given)
{
	rt_walk_start(&walk, room);
	assert_true(is_in_room(walk.now, remembered_bytes(walk.now->capacity)));
	assert_true(is_in_room(walk.fresh - 1, fresh_bytes(ROOM_FRAMES)));
	assert_true(walk.now->capacity >= 24);
	fill();
	assert_int_equal(rt_load(&totals.private_bytes), 0);
	/* Of a thread that takes the state over. */
	rt_walk_start(&walk, room);
	assert_int_equal(walk.now->capacity, ROOM_FRAMES);
}

WALK_TEST(a_memory_grows_as_far_as_is_remembered_and_keeps_what_it_has)
{
	uint32_t before = ROOM_FRAMES;

	rt_walk_start(&walk, room);
	for (unsigned steps = 0; before < RT_WALK_FRAMES_MAX; steps++) {
		fill();
		walk.now->root = 77;
		assert_true(rt_remembered_grow(&walk, before + 1, before));
		assert_true(walk.now == walk.remembered[0]);
		assert_true(walk.now->capacity > before);
		assert_int_equal(walk.now->count, before);
		assert_int_equal(walk.now->root, 77);
		for (uint32_t i = 0; i < before; i++) {
			assert_true(walk.now->frames[i].ra == (uintptr_t)~i);
			assert_true(walk.now->words[2 * i + 1].value == i);
		}
		/* The one before was given back. */
		assert_int_equal(rt_load(&totals.private_bytes),
				 remembered_bytes(walk.now->capacity));
		before = walk.now->capacity;
		assert_true(steps < 20);
	}
	fill();
	assert_int_equal(before, RT_WALK_FRAMES_MAX);
	assert_false(rt_remembered_grow(&walk, before + 1, before));
	rt_munmap(walk.now, remembered_bytes(before));
}

WALK_TEST(new_frames_grow_as_far_as_is_remembered_and_stay)
{
	rt_walk_start(&walk, room);
	while (walk.fresh[-1].ra_at < RT_WALK_FRAMES_MAX) {
		uint32_t before = (uint32_t)walk.fresh[-1].ra_at;

		fill();
		assert_true(rt_fresh_grow(&walk));
		assert_true(walk.fresh[-1].ra_at > before);
		for (uint32_t i = 0; i < before; i++)
			assert_true(walk.fresh[i].ra == i);
	}
	assert_int_equal(walk.fresh[-1].ra_at, RT_WALK_FRAMES_MAX);
	assert_false(rt_fresh_grow(&walk));
	rt_munmap(walk.fresh - 1, fresh_bytes(RT_WALK_FRAMES_MAX));
	assert_int_equal(rt_load(&totals.private_bytes), 0);
}

WALK_TEST(a_stack_a_little_deeper_than_the_room_costs_two_pages)
{
	rt_walk_start(&walk, room);
	assert_true(rt_remembered_grow(&walk, ROOM_FRAMES + 1, ROOM_FRAMES));
	assert_true(rt_fresh_grow(&walk));
	assert_in_range(rt_load(&totals.private_bytes), 1, 2 * LEDGER_PAGE_BYTES);
	fill();
}

WALK_TEST(another_stack_is_remembered_beside_the_first)
{
	rt_walk_start(&walk, room);
	fill();
	walk.now->root = 5000;
	rt_remembered_take_oldest(&walk);
	assert_true(walk.now != walk.remembered[0]);
	fill();
	walk.now->root = 9000;
	rt_remembered_choose(&walk, 4000);
	assert_true(walk.now == walk.remembered[0]);
	assert_true(walk.now->frames[1].ra == (uintptr_t)~1u);
}
