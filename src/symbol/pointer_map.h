/* SPDX-License-Identifier: MIT */
/* A hash map from a non-zero number (an address, a hash) to a pointer. */
#ifndef SEEP_SYMBOL_POINTER_MAP_H
#define SEEP_SYMBOL_POINTER_MAP_H

#include <stddef.h>
#include <stdint.h>

struct pointer_slot;

/* Zero is an empty map. */
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
