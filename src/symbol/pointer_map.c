/* SPDX-License-Identifier: MIT */
#include "symbol/pointer_map.h"

#include "base/xalloc.h"

#include <stdlib.h>

enum { MAP_FIRST_ROOM = 64 };

struct pointer_slot {
	uint64_t key; /* 0 = free */
	void *value;
};

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

	wide.slots = seep_xcalloc(wide.room, sizeof(*wide.slots));
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
