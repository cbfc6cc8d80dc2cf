/* SPDX-License-Identifier: MIT */
/*
 * Memory for symbol tables and indexes. Everything a lookup returns lives as long as its cache,
 * so strings and records go into an arena that is released in one piece.
 *
 * Sizes that come from a file are bounded before they get here; running out of memory ends the
 * program with one line.
 */
#ifndef SEEP_SYMBOL_SYMBOL_MEMORY_H
#define SEEP_SYMBOL_SYMBOL_MEMORY_H

#include <stddef.h>
#include <stdint.h>

struct arena_chunk;

/* Zero is an empty arena. */
struct seep_arena {
	struct arena_chunk *chunks; /* newest first; only the newest has room */
	size_t room_bytes;	    /* left in the newest */
};

/* Zeroed, aligned to 16; lives until seep_arena_done(). */
void *seep_arena_alloc(struct seep_arena *arena, size_t bytes);
char *seep_arena_strndup(struct seep_arena *arena, const char *text, size_t bytes);
void seep_arena_done(struct seep_arena *arena);

/* calloc(), malloc() and realloc() that do not return NULL (but for a count of 0). */
void *seep_symbol_zalloc(size_t count, size_t bytes_each);
void *seep_symbol_realloc(void *old, size_t count, size_t bytes_each);
char *seep_symbol_strdup(const char *text);

/**
 * seep_symbol_grow - make room for one more element at the end of a growable array
 * @array:      the elements, NULL when there are none
 * @count:      elements in use
 * @room:       elements there is room for; updated
 *
 * Returns: the array, moved perhaps.
 */
void *seep_symbol_grow(void *array, size_t count, size_t *room, size_t bytes_each);

/* From a non-zero number to a pointer. Zero is an empty map. */
struct seep_pointer_map {
	struct pointer_slot *slots;
	size_t room; /* a power of two, or 0 */
	size_t count;
};

/* NULL when @key is not there. */
void *seep_pointer_map_get(const struct seep_pointer_map *map, uint64_t key);
void seep_pointer_map_put(struct seep_pointer_map *map, uint64_t key, void *value);
void seep_pointer_map_each(const struct seep_pointer_map *map, void (*visit)(void *value));
void seep_pointer_map_done(struct seep_pointer_map *map);

#endif
