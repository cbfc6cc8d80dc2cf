/* SPDX-License-Identifier: MIT */
#include "base/arena.h"
#include "unit.h"

#include <string.h>

/* Small, at the borders of chunks, and larger than any chunk. */
static const size_t sizes[] = { 1, 15, 16, 17, 4000, 16384, 16385, 262143, 262144, 3 << 20 };
enum { SIZES = sizeof(sizes) / sizeof(sizes[0]), ROUNDS = 20 };

TEST(pieces_are_zeroed_aligned_and_apart)
{
	struct seep_arena *arena = seep_arena_new();
	unsigned char *pieces[ROUNDS][SIZES];

	for (int round = 0; round < ROUNDS; round++) {
		for (int i = 0; i < SIZES; i++) {
			unsigned char *piece = seep_arena_alloc(arena, sizes[i]);

			assert_int_equal((uintptr_t)piece % 16, 0);
			for (size_t at = 0; at < sizes[i]; at++)
				if (piece[at] != 0)
					fail_msg("byte %zu of %zu", at, sizes[i]);
			memset(piece, round * SIZES + i, sizes[i]);
			pieces[round][i] = piece;
		}
	}
	for (int round = 0; round < ROUNDS; round++)
		for (int i = 0; i < SIZES; i++) {
			assert_int_equal(pieces[round][i][0], round * SIZES + i);
			assert_int_equal(pieces[round][i][sizes[i] - 1], round * SIZES + i);
		}
	seep_arena_free(arena);
}

TEST(nothing_and_no_arena_are_accepted)
{
	struct seep_arena *arena = seep_arena_new();

	assert_non_null(seep_arena_alloc(arena, 0));
	assert_non_null(seep_arena_calloc(arena, 0, 100));
	seep_arena_free(arena);
	seep_arena_free(NULL);
}

TEST(copies_end_at_the_count_or_at_a_zero)
{
	struct seep_arena *arena = seep_arena_new();

	assert_string_equal(seep_arena_strndup(arena, "abcdef", 3), "abc");
	assert_string_equal(seep_arena_strndup(arena, "ab\0def", 6), "ab");
	assert_string_equal(seep_arena_strndup(arena, "", 0), "");
	seep_arena_free(arena);
}

TEST(a_block_from_elsewhere_goes_with_it)
{
	struct seep_arena *arena = seep_arena_new();

	seep_arena_take(arena, NULL);
	for (int i = 0; i < 3; i++)
		seep_arena_take(arena, strdup("kept"));
	/* A leak shows in the build with the address sanitizer. */
	seep_arena_free(arena);
}
