/* SPDX-License-Identifier: MIT */
/* Linear probing; the whole hash is kept, so that growing and comparing need no caller. */
#include "base/idtable.h"

#include <stdlib.h>

#include "base/xalloc.h"

struct seep_idtable_bucket {
	uint64_t hash;
	uint32_t id_used; /* id + 1; 0 = empty */
};

enum { BUCKETS_MIN = 64 };

void seep_idtable_init(struct seep_idtable *table, size_t expected)
{
	size_t buckets = BUCKETS_MIN;

	while (buckets / 3 * 2 <= expected)
		buckets *= 2;
	table->buckets = seep_xcalloc(buckets, sizeof(*table->buckets));
	table->mask = buckets - 1;
	table->count = 0;
}

void seep_idtable_done(struct seep_idtable *table)
{
	free(table->buckets);
	*table = (struct seep_idtable){ 0 };
}

uint32_t seep_idtable_find(const struct seep_idtable *table, uint64_t hash, size_t *at)
{
	size_t bucket = *at == SEEP_IDTABLE_START ? hash & table->mask : (*at + 1) & table->mask;

	if (table->count == 0)
		return SEEP_IDTABLE_NONE;
	for (; table->buckets[bucket].id_used != 0; bucket = (bucket + 1) & table->mask) {
		if (table->buckets[bucket].hash == hash) {
			*at = bucket;
			return table->buckets[bucket].id_used - 1;
		}
	}
	*at = bucket;
	return SEEP_IDTABLE_NONE;
}

static void put(struct seep_idtable *table, uint64_t hash, uint32_t id_used)
{
	size_t bucket = hash & table->mask;

	while (table->buckets[bucket].id_used != 0)
		bucket = (bucket + 1) & table->mask;
	table->buckets[bucket].hash = hash;
	table->buckets[bucket].id_used = id_used;
}

static void grow(struct seep_idtable *table)
{
	const struct seep_idtable old = *table;

	seep_idtable_init(table, 2 * old.count);
	table->count = old.count;
	for (size_t i = 0; old.buckets && i <= old.mask; i++)
		if (old.buckets[i].id_used != 0)
			put(table, old.buckets[i].hash, old.buckets[i].id_used);
	free(old.buckets);
}

void seep_idtable_add(struct seep_idtable *table, uint64_t hash, uint32_t id)
{
	if (table->count >= (table->mask + 1) / 3 * 2)
		grow(table);
	put(table, hash, id + 1);
	table->count++;
}

uint64_t seep_hash_text(uint64_t hash, const char *text)
{
	size_t left;

	if (text == NULL)
		return seep_hash_mix(hash, UINT64_MAX);
	left = strlen(text);
	hash = seep_hash_mix(hash, left);
	while (left > 0) {
		const size_t bytes = left < sizeof(uint64_t) ? left : sizeof(uint64_t);
		uint64_t word = 0;

		memcpy(&word, text, bytes);
		hash = seep_hash_mix(hash, word);
		text += bytes;
		left -= bytes;
	}
	return hash;
}
