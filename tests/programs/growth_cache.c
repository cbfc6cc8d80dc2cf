/* SPDX-License-Identifier: MIT */
/*
 * Three caches that fill in the first third of the run and then stay: one holds so many bytes and
 * drops what was used least recently, one holds so many entries and drops any of them, one drops
 * each entry some time after it came. Entries differ in size by a factor of 60.
 */
#include "growth_play.h"

enum { KEYS = 20000 };

GROWTH_SITE(STEADY, insert_lru);
GROWTH_SITE(STEADY, insert_random);
GROWTH_MAKER(STEADY, insert_ttl);

struct entry {
	struct entry *newer, *older;
	size_t bytes;
	long key;
};

static struct entry *lru_of[KEYS], *newest, *oldest;
static struct entry *random_of[KEYS], *slots[KEYS];
static long slot_count;
static struct growth_wheel ttl;

static GROWTH_FN struct entry *insert_lru(size_t bytes)
{
	struct entry *entry = malloc(bytes);

	growth_live(&site_insert_lru, entry, bytes);
	entry->bytes = bytes;
	return entry;
}

static GROWTH_FN struct entry *insert_random(size_t bytes)
{
	struct entry *entry = malloc(bytes);

	growth_live(&site_insert_random, entry, bytes);
	entry->bytes = bytes;
	return entry;
}

static void lru_unlink(struct entry *entry)
{
	*(entry->newer ? &entry->newer->older : &newest) = entry->older;
	*(entry->older ? &entry->older->newer : &oldest) = entry->newer;
}

static void lru_link(struct entry *entry)
{
	entry->newer = NULL;
	entry->older = newest;
	*(newest ? &newest->newer : &oldest) = entry;
	newest = entry;
}

static void lru_get(long key, size_t bytes, long long limit)
{
	struct entry *entry = lru_of[key];

	if (entry) {
		lru_unlink(entry);
	} else {
		entry = lru_of[key] = insert_lru(bytes);
		entry->key = key;
	}
	lru_link(entry);
	while (growth_bytes(&site_insert_lru) > limit) {
		entry = oldest;
		lru_unlink(entry);
		lru_of[entry->key] = NULL;
		growth_free(&site_insert_lru, entry, entry->bytes);
	}
}

static void random_get(uint64_t *random, long key, size_t bytes, long most)
{
	struct entry *entry = random_of[key];

	if (entry)
		return;
	while (slot_count >= most) {
		long slot = growth_between(random, 0, slot_count - 1);

		entry = slots[slot];
		slots[slot] = slots[--slot_count];
		random_of[entry->key] = NULL;
		growth_free(&site_insert_random, entry, entry->bytes);
	}
	entry = random_of[key] = slots[slot_count++] = insert_random(bytes);
	entry->key = key;
}

int main(int argc, char **argv)
{
	struct growth_clock clock = { 0 };
	double rate, full_at, noise = 1, ttl_seconds;
	long long limit = -1;
	long most = KEYS;
	uint64_t random;

	if (growth_start(argc, argv) != 0)
		return 2;
	random = growth_stream(0);
	rate = growth_uniform(&random, 4, 15);
	full_at = growth_uniform(&random, 0.15, 0.35) * (double)growth_units;
	ttl_seconds = growth_uniform(&random, 20, 90);
	while (growth_tick(&clock)) {
		double load = rate * growth_noise(&random, &noise, 0.97, 0.12);
		long requests = growth_arrivals(&random, load);

		/* Somebody sized the caches so that they are full just then. */
		if (limit < 0 && growth_now(&clock) >= full_at) {
			limit = growth_bytes(&site_insert_lru);
			most = slot_count > 0 ? slot_count : 1;
		}
		growth_expire(&ttl, &clock, &site_insert_ttl);
		while (requests-- > 0) {
			/* Some keys are asked for often. */
			double pick = growth_uniform(&random, 0, 1);
			long key = (long)(pick * pick * KEYS);
			size_t bytes = growth_size(&random, 64, 4096);

			lru_get(key, bytes, limit < 0 ? INT64_MAX : limit);
			random_get(&random, key, bytes, most);
			growth_later(&ttl, &clock, insert_ttl(bytes), bytes,
				     growth_ticks(ttl_seconds * growth_uniform(&random, 0.9, 1.1)));
		}
	}
	growth_end();
	while (oldest) {
		struct entry *entry = oldest;

		lru_unlink(entry);
		growth_free(&site_insert_lru, entry, entry->bytes);
	}
	while (slot_count > 0)
		free(slots[--slot_count]);
	growth_drain(&ttl, &site_insert_ttl);
	return 0;
}
