/* SPDX-License-Identifier: MIT */
/* Which memory of real processes is the allocator's, and which the program's own. */
#include "target_look.h"
#include "unit.h"

#include <malloc.h>
#include <pthread.h>

enum { BYTES = 4096 };

enum { SMALL, TAKEN, SMALL_LATER, TAKEN_LAST };

static void take_from_brk(struct truth *truth)
{
	uint64_t taken;

	truth->at[SMALL] = address_of(add_block(truth, malloc(100), 100));
	taken = address_of(sbrk(BYTES));
	truth->at[TAKEN] = taken;
	truth->at[TAKEN_LAST] = taken + BYTES - 8;
	truth->facts.taken_count = 2;
	truth->facts.taken[0].end = UINT64_MAX;
	truth->facts.taken[1].begin = taken; /* place 0 is free again */
	truth->facts.taken[1].end = taken + BYTES;
	/* More than is left of the arena's top: it goes on behind. */
	for (int i = 0; i < 40; i++)
		truth->at[SMALL_LATER] = address_of(malloc(20000));
}

LOOK_TEST(what_the_program_took_by_sbrk_is_its_own, take_from_brk, 1)
{
	assert_kind(SMALL, NONE);
	assert_kind(TAKEN, MAPPING);
	assert_kind(TAKEN_LAST, MAPPING);
	assert_true(look.truth->at[SMALL_LATER] > look.truth->at[TAKEN]);
	assert_kind(SMALL_LATER, NONE);
}

enum { ABOVE, BELOW, LARGE, LARGE_HEADER, LARGE_LAST, ALIGNED, ALIGNED_PADDING, ALIGNED_LAST };

static void map_around_chunks(struct truth *truth)
{
	char *large, *aligned;

	truth->at[ABOVE] = address_of(map_private(BYTES));
	large = add_block(truth, malloc(1 << 20), 1 << 20);
	aligned = add_block(truth, memalign(1 << 16, 1 << 20), 1 << 20);
	truth->at[BELOW] = address_of(map_private(BYTES));
	truth->at[LARGE] = address_of(large);
	truth->at[LARGE_HEADER] = address_of(large - 16);
	truth->at[LARGE_LAST] = address_of(large + malloc_usable_size(large) - 8);
	truth->at[ALIGNED] = address_of(aligned);
	truth->at[ALIGNED_PADDING] = address_of(aligned) - 16 - word_at(address_of(aligned) - 16);
	truth->at[ALIGNED_LAST] = address_of(aligned + malloc_usable_size(aligned) - 8);
}

LOOK_TEST(mapped_chunks_are_told_from_mappings_beside_them, map_around_chunks, 1)
{
	assert_true(look.truth->at[ALIGNED_PADDING] + 16 < look.truth->at[ALIGNED]);
	for (int i = LARGE; i <= ALIGNED_LAST; i++)
		assert_int_equal(kind_at(look.truth->at[i]), SCAN_ROOT_NONE);
	assert_kind(ABOVE, MAPPING);
	assert_kind(BELOW, MAPPING);
}

static void forge_chunk(struct truth *truth)
{
	uint64_t *area = map_private(4 * BYTES);

	/* A block that is said to reach beyond its mapping. */
	area[2] = 1;
	area[3] = (UINT64_C(1) << 40) | 2;
	add_block(truth, &area[4], 64);
	truth->at[LARGE] = address_of(&area[4]);
	truth->at[BELOW] = address_of(area);
	truth->at[ABOVE] = address_of(area + BYTES / 8);
}

LOOK_TEST(a_chunk_that_makes_no_sense_hides_nothing_but_its_block, forge_chunk, 1)
{
	assert_kind(LARGE, NONE);
	assert_kind(BELOW, MAPPING);
	assert_kind(ABOVE, MAPPING);
}

enum { IN_ARENA, ARENA_FIRST, EMPTY_ARENA, LOCAL };

static void *allocate_in_arena(void *argument)
{
	struct truth *truth = argument;
	char *block = add_block(truth, malloc(1000), 1000);
	volatile uint64_t local = 1;

	truth->at[IN_ARENA] = address_of(block);
	truth->at[ARENA_FIRST] = address_of(block) & -(UINT64_C(64) << 20);
	truth->at[LOCAL] = address_of(&local);
	stand(truth);
	return NULL;
}

static void *empty_arena(void *argument)
{
	struct truth *truth = argument;
	char *block = malloc(1000);

	truth->at[EMPTY_ARENA] = address_of(block);
	free(block);
	stand(truth);
	return NULL;
}

static void make_arenas(struct truth *truth)
{
	pthread_t first, second;

	(void)mallopt(M_ARENA_MAX, 8);
	if (pthread_create(&first, NULL, allocate_in_arena, truth) != 0 ||
	    pthread_create(&second, NULL, empty_arena, truth) != 0)
		_exit(1);
}

LOOK_TEST(arenas_are_not_roots_even_with_nothing_alive_in_them, make_arenas, 3)
{
	assert_int_not_equal(look.truth->at[IN_ARENA] >> 26, look.truth->at[EMPTY_ARENA] >> 26);
	assert_kind(IN_ARENA, NONE);
	assert_kind(ARENA_FIRST, NONE);
	assert_kind(EMPTY_ARENA, NONE);
	assert_kind(LOCAL, STACK);
}

enum { BIN, TOP, STDOUT_BUFFER };

static void fill_a_bin(struct truth *truth)
{
	void *freed = malloc(5000);
	const uint64_t was_at = address_of(freed);
	void *kept = malloc(100);

	free(freed);
	add_block(truth, malloc(20000), 20000); /* sorts it in */
	truth->at[BIN] = word_at(was_at) + 16;
	truth->at[TOP] = 0;
	add_block(truth, kept, 100);
	truth->at[STDOUT_BUFFER] = address_of(stdout);
}

LOOK_TEST(the_main_arena_is_not_a_root_and_the_rest_of_libc_is, fill_a_bin, 1)
{
	assert_kind(BIN, NONE);
	assert_kind(STDOUT_BUFFER, GLOBAL);
	assert_int_equal(look.roots.caveats.count, 0);
}

enum { IN_BLOCK, BLOCKS_PAGE, NEXT_PAGE };

static void carve(struct truth *truth)
{
	char *area = map_private(16 * BYTES);

	truth->allocator = LEDGER_ALLOCATOR_OTHER;
	add_block(truth, area + 2 * BYTES + 64, 128);
	truth->at[IN_BLOCK] = address_of(area + 2 * BYTES + 64);
	truth->at[BLOCKS_PAGE] = address_of(area + 2 * BYTES + 1024);
	truth->at[NEXT_PAGE] = address_of(area + 3 * BYTES);
}

LOOK_TEST(under_another_allocator_pages_with_blocks_are_the_heap, carve, 1)
{
	assert_kind(IN_BLOCK, NONE);
	assert_kind(BLOCKS_PAGE, NONE);
	assert_kind(NEXT_PAGE, MAPPING);
}

enum { OWN, NOT_OWN };

static void say_what_is_own(struct truth *truth)
{
	char *area = map_private(4 * BYTES);

	truth->facts.own_count = 2;
	truth->facts.own[1].begin = address_of(area);
	truth->facts.own[1].end = address_of(area + BYTES);
	truth->at[OWN] = address_of(area);
	truth->at[NOT_OWN] = address_of(area + BYTES);
}

LOOK_TEST(what_is_libseeps_own_is_no_root, say_what_is_own, 1)
{
	assert_kind(OWN, NONE);
	assert_kind(NOT_OWN, MAPPING);
}

enum { HELD = 8, RECORDED, CACHED, FAST, FREE, BEHIND, POOL_BEGIN, IN_POOL, POOL_END };

/* Of a block that was freed, words that the allocator does not use. */
static void *freed_later(struct truth *truth, int at, size_t bytes)
{
	char *block = malloc(bytes);

	truth->at[at] = address_of(block + bytes - 16);
	return block;
}

static void hold_unrecorded(struct truth *truth)
{
	void *fast[8], *cached = freed_later(truth, CACHED, 200);
	void *large = freed_later(truth, FREE, 3000);
	char *held = malloc(500), *pool = malloc(2000);

	truth->filtered = true;
	for (int i = 0; i < 8; i++)
		fast[i] = freed_later(truth, FAST, 100);
	truth->at[HELD] = address_of(held + 488);
	truth->at[BEHIND] = address_of(held + malloc_usable_size(held) - 8);
	truth->at[RECORDED] = address_of(add_block(truth, malloc(300), 300));
	add_block(truth, pool + 512, 256);
	truth->blocks[1].flags = LEDGER_CELL_FOREIGN;
	truth->at[POOL_BEGIN] = address_of(pool);
	truth->at[IN_POOL] = address_of(pool + 512);
	truth->at[POOL_END] = address_of(pool + 768);
	free(cached);
	free(large);
	for (int i = 0; i < 8; i++)
		free(fast[i]);
}

LOOK_TEST(chunks_in_use_with_no_recorded_block_are_roots_and_free_ones_are_not, hold_unrecorded, 1)
{
	assert_kind(HELD, MAPPING);
	assert_kind(BEHIND, MAPPING);
	assert_kind(POOL_BEGIN, MAPPING);
	assert_kind(POOL_END, MAPPING);
	assert_kind(IN_POOL, NONE);
	assert_kind(RECORDED, NONE);
	assert_kind(CACHED, NONE);
	assert_kind(FAST, NONE);
	assert_kind(FREE, NONE);
	assert_int_equal(look.roots.caveats.count, 1);
}

static void take_unnoticed(struct truth *truth)
{
	truth->filtered = true;
	add_block(truth, malloc(100), 100);
	truth->at[TAKEN] = address_of(memset(sbrk(BYTES), 0, BYTES)) + 64;
	/* More than is left of the arena's top: it goes on behind. */
	for (int i = 0; i < 40; i++)
		truth->at[SMALL_LATER] = address_of(add_block(truth, malloc(20000), 20000));
	free(malloc(3000));
	truth->at[FREE] = address_of(freed_later(truth, HELD, 3000));
	free((void *)(uintptr_t)truth->at[FREE]);
	truth->at[FREE] += 2000;
}

LOOK_TEST(what_cannot_be_followed_is_a_root_up_to_the_next_recorded_block, take_unnoticed, 1)
{
	assert_kind(TAKEN, MAPPING);
	assert_kind(SMALL_LATER, NONE);
	assert_kind(FREE, NONE);
	assert_int_equal(look.roots.caveats.count, 2);
}
