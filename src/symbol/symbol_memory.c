/* SPDX-License-Identifier: MIT */
#include "symbol/symbol_memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ARENA_CHUNK_BYTES = 64 << 10, ARENA_ALIGN = 16, MAP_FIRST_ROOM = 64 };

struct arena_chunk {
	struct arena_chunk *next;
	size_t bytes;
	_Alignas(ARENA_ALIGN) char data[];
};

struct pointer_slot {
	uint64_t key; /* 0 = free */
	void *value;
};

static _Noreturn void out_of_memory(void)
{
	(void)fputs("seep: out of memory\n", stderr);
	abort();
}

void *seep_symbol_zalloc(size_t count, size_t bytes_each)
{
	void *block = calloc(count, bytes_each);

	if (!block && count && bytes_each)
		out_of_memory();
	return block;
}

void *seep_symbol_realloc(void *old, size_t count, size_t bytes_each)
{
	void *block = reallocarray(old, count, bytes_each);

	if (!block && count && bytes_each)
		out_of_memory();
	return block;
}

char *seep_symbol_strdup(const char *text)
{
	size_t bytes = strlen(text) + 1;

	return memcpy(seep_symbol_zalloc(bytes, 1), text, bytes);
}

void *seep_symbol_grow(void *array, size_t count, size_t *room, size_t bytes_each)
{
	if (count < *room)
		return array;
	*room = *room ? *room * 2 : 16;
	return seep_symbol_realloc(array, *room, bytes_each);
}

void *seep_arena_alloc(struct seep_arena *arena, size_t bytes)
{
	struct arena_chunk *chunk = arena->chunks;
	void *block;

	bytes = (bytes + ARENA_ALIGN - 1) & ~(size_t)(ARENA_ALIGN - 1);
	if (!chunk || bytes > arena->room_bytes) {
		size_t chunk_bytes = bytes > ARENA_CHUNK_BYTES ? bytes : ARENA_CHUNK_BYTES;

		chunk = seep_symbol_zalloc(1, sizeof(*chunk) + chunk_bytes);
		chunk->bytes = chunk_bytes;
		chunk->next = arena->chunks;
		arena->chunks = chunk;
		arena->room_bytes = chunk_bytes;
	}
	block = chunk->data + (chunk->bytes - arena->room_bytes);
	arena->room_bytes -= bytes;
	return block;
}

char *seep_arena_strndup(struct seep_arena *arena, const char *text, size_t bytes)
{
	char *copy = seep_arena_alloc(arena, bytes + 1);

	memcpy(copy, text, bytes);
	return copy;
}

void seep_arena_done(struct seep_arena *arena)
{
	while (arena->chunks) {
		struct arena_chunk *next = arena->chunks->next;

		free(arena->chunks);
		arena->chunks = next;
	}
	arena->room_bytes = 0;
}

/* The slot of @key, or the free one where it would go. The map is never full. */
static struct pointer_slot *find_slot(const struct seep_pointer_map *map, uint64_t key)
{
	uint64_t hash = key * UINT64_C(0x9e3779b97f4a7c15);
	size_t i = (size_t)(hash >> 32) & (map->room - 1);

	while (map->slots[i].key != 0 && map->slots[i].key != key)
		i = (i + 1) & (map->room - 1);
	return &map->slots[i];
}

static void map_widen(struct seep_pointer_map *map)
{
	struct seep_pointer_map wide = { .room = map->room ? map->room * 2 : MAP_FIRST_ROOM,
					 .count = map->count };
	size_t i;

	wide.slots = seep_symbol_zalloc(wide.room, sizeof(*wide.slots));
	for (i = 0; i < map->room; i++)
		if (map->slots[i].key != 0)
			*find_slot(&wide, map->slots[i].key) = map->slots[i];
	free(map->slots);
	*map = wide;
}

void *seep_pointer_map_get(const struct seep_pointer_map *map, uint64_t key)
{
	return map->room ? find_slot(map, key)->value : NULL;
}

void seep_pointer_map_put(struct seep_pointer_map *map, uint64_t key, void *value)
{
	struct pointer_slot *slot;

	if (map->count * 4 >= map->room * 3)
		map_widen(map);
	slot = find_slot(map, key);
	map->count += slot->key == 0;
	slot->key = key;
	slot->value = value;
}

void seep_pointer_map_each(const struct seep_pointer_map *map, void (*visit)(void *value))
{
	size_t i;

	for (i = 0; i < map->room; i++)
		if (map->slots[i].key != 0)
			visit(map->slots[i].value);
}

void seep_pointer_map_done(struct seep_pointer_map *map)
{
	free(map->slots);
	*map = (struct seep_pointer_map){ 0 };
}
