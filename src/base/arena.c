/* SPDX-License-Identifier: MIT */
/*
 * Small pieces come from chunks that double from 16 KB to 1 MB; pieces over a quarter of the
 * largest chunk get a chunk of their own, which calloc() maps untouched.
 */
#include "base/arena.h"

#include "base/xalloc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	ALIGN_BYTES = 16,
	CHUNK_MIN_BYTES = 16 * 1024,
	CHUNK_MAX_BYTES = 1024 * 1024,
	LARGE_BYTES = CHUNK_MAX_BYTES / 4,
};

struct chunk {
	struct chunk *next;
	size_t spare; /* keeps data aligned to 16 */
	unsigned char data[];
};

/* A block from elsewhere. */
struct taken {
	struct taken *next;
	void *block;
};

struct seep_arena {
	struct chunk *chunks;
	struct taken *taken;
	unsigned char *at;
	size_t left;
	size_t chunk_bytes;
	uint64_t bytes;
};

struct seep_arena *seep_arena_new(void)
{
	struct seep_arena *arena = seep_xcalloc(1, sizeof(*arena));

	arena->chunk_bytes = CHUNK_MIN_BYTES;
	return arena;
}

void seep_arena_free(struct seep_arena *arena)
{
	if (!arena)
		return;
	for (const struct taken *taken = arena->taken; taken; taken = taken->next)
		free(taken->block);
	while (arena->chunks) {
		struct chunk *next = arena->chunks->next;

		free(arena->chunks);
		arena->chunks = next;
	}
	free(arena);
}

static struct chunk *add_chunk(struct seep_arena *arena, size_t data_bytes)
{
	struct chunk *chunk = seep_xcalloc(1, sizeof(*chunk) + data_bytes);

	chunk->next = arena->chunks;
	arena->chunks = chunk;
	return chunk;
}

static void refill(struct seep_arena *arena)
{
	struct chunk *chunk = add_chunk(arena, arena->chunk_bytes);

	arena->at = chunk->data;
	arena->left = arena->chunk_bytes;
	if (arena->chunk_bytes < CHUNK_MAX_BYTES)
		arena->chunk_bytes *= 2;
}

static _Noreturn void over_the_ceiling(size_t bytes)
{
	(void)fprintf(stderr, "seep: out of memory: %zu more bytes would exceed the limit\n",
		      bytes);
	abort();
}

void *seep_arena_alloc(struct seep_arena *arena, size_t bytes)
{
	size_t rounded = (bytes + ALIGN_BYTES - 1) & ~(size_t)(ALIGN_BYTES - 1);
	void *piece;

	if (rounded < bytes || rounded > SEEP_ARENA_MAX_BYTES - arena->bytes)
		over_the_ceiling(bytes);
	arena->bytes += rounded;
	if (rounded >= LARGE_BYTES)
		return add_chunk(arena, rounded)->data;
	while (!arena->at || arena->left < rounded)
		refill(arena);
	piece = arena->at;
	arena->at += rounded;
	arena->left -= rounded;
	return piece;
}

void *seep_arena_calloc(struct seep_arena *arena, size_t count, size_t bytes)
{
	size_t product;

	if (__builtin_mul_overflow(count, bytes, &product))
		over_the_ceiling(SIZE_MAX);
	return seep_arena_alloc(arena, product);
}

void seep_arena_take(struct seep_arena *arena, void *block)
{
	struct taken *taken;

	if (!block)
		return;
	taken = seep_arena_alloc(arena, sizeof(*taken));
	taken->block = block;
	taken->next = arena->taken;
	arena->taken = taken;
}

char *seep_arena_strndup(struct seep_arena *arena, const char *bytes, size_t count)
{
	size_t length = strnlen(bytes, count);
	char *copy = seep_arena_alloc(arena, length + 1);

	memcpy(copy, bytes, length);
	return copy;
}
