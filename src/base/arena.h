/* SPDX-License-Identifier: MIT */
/*
 * Bump allocator for things that are made piece by piece and released together: a profile, or
 * the scratch data of one pass. Memory is zeroed. There is no way to release one piece.
 */
#ifndef SEEP_BASE_ARENA_H
#define SEEP_BASE_ARENA_H

#include "base/release.h"

#include <stddef.h>
#include <stdint.h>

struct seep_arena;

/* Ceiling of one arena. Reaching it, like running out of memory, ends the tool with one line. */
#define SEEP_ARENA_MAX_BYTES (64ull << 30)

/* An empty arena. Never fails. */
struct seep_arena *seep_arena_new(void);

/* Release @arena and everything allocated from it. NULL is a no-op. */
void seep_arena_free(struct seep_arena *arena);
SEEP_FREE_AT(struct seep_arena, seep_arena_free)

/**
 * seep_arena_alloc - zeroed memory, aligned for any type, until seep_arena_free()
 * @bytes: 0 gives a pointer that must not be read through
 *
 * Never fails. Large pieces are mapped on their own, so that pages never touched cost nothing.
 * Callers bound sizes that come from a file before they ask.
 */
void *seep_arena_alloc(struct seep_arena *arena, size_t bytes);

/* The same for @count items of @bytes each; an overflow of the product ends the tool. */
void *seep_arena_calloc(struct seep_arena *arena, size_t count, size_t bytes);

/* @block, from malloc() or realloc(), is released with @arena from now on. NULL is a no-op. */
void seep_arena_take(struct seep_arena *arena, void *block);

/* A terminated copy of the first @count bytes of @bytes, or up to a zero byte before that. */
char *seep_arena_strndup(struct seep_arena *arena, const char *bytes, size_t count);

#endif
