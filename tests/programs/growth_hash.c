/* SPDX-License-Identifier: MIT */
/*
 * A hash table that takes in a data set in the first third of the run, with the table of buckets
 * doubled on the way, the old one freed when all is moved. From then on entries are replaced: one
 * goes, another comes, and a few more or less are there.
 */
#include "growth_play.h"

enum { MOST = 60000 };

GROWTH_SITE(STEADY, add_entry);
GROWTH_SITE(STEADY, new_buckets);
GROWTH_SITE(STEADY, look_up);

struct entry {
	struct entry *next;
	size_t bytes;
	uint32_t key;
};

static struct entry **buckets;
static size_t bucket_count, entry_count;
static uint32_t keys[MOST];

static GROWTH_FN struct entry **new_buckets(size_t count)
{
	struct entry **table = calloc(count, sizeof(*table));

	growth_live(&site_new_buckets, table, count * sizeof(*table));
	return table;
}

static GROWTH_FN struct entry *add_entry(size_t bytes)
{
	struct entry *entry = malloc(bytes);

	growth_live(&site_add_entry, entry, bytes);
	entry->bytes = bytes;
	return entry;
}

static GROWTH_FN void *look_up(size_t bytes)
{
	void *answer = malloc(bytes);

	growth_live(&site_look_up, answer, bytes);
	return answer;
}

static void link_entry(struct entry *entry)
{
	struct entry **bucket = &buckets[entry->key % bucket_count];

	entry->next = *bucket;
	*bucket = entry;
}

static void rehash(void)
{
	struct entry **old = buckets;
	size_t old_count = bucket_count, i;

	bucket_count = old_count ? old_count * 2 : 16;
	buckets = new_buckets(bucket_count);
	for (i = 0; i < old_count; i++) {
		while (old[i]) {
			struct entry *entry = old[i];

			old[i] = entry->next;
			link_entry(entry);
		}
	}
	if (old)
		growth_free(&site_new_buckets, old, old_count * sizeof(*old));
}

static void insert(uint64_t *random)
{
	struct entry *entry;

	if (entry_count == MOST)
		return;
	if (entry_count * 4 >= bucket_count * 3)
		rehash();
	entry = add_entry(growth_size(random, 40, 500));
	entry->key = keys[entry_count++] = growth_random(random);
	link_entry(entry);
}

static void erase(uint64_t *random)
{
	long at = growth_between(random, 0, (long)entry_count - 1);
	struct entry **place = &buckets[keys[at] % bucket_count], *entry;

	while ((*place)->key != keys[at])
		place = &(*place)->next;
	entry = *place;
	*place = entry->next;
	keys[at] = keys[--entry_count];
	growth_free(&site_add_entry, entry, entry->bytes);
}

int main(int argc, char **argv)
{
	static struct growth_wheel answers;
	struct growth_clock clock = { 0 };
	double rate, noise = 1, filled_at;
	size_t filled = 0, i;
	uint64_t random;

	if (growth_start(argc, argv) != 0)
		return 2;
	random = growth_stream(0);
	rate = growth_uniform(&random, 5, 40);
	filled_at = growth_uniform(&random, 0.2, 0.34) * (double)growth_units;
	while (growth_tick(&clock)) {
		double load = rate * growth_noise(&random, &noise, 0.97, 0.12);
		long count = growth_arrivals(&random, load);
		size_t bytes = growth_size(&random, 256, 16384);

		growth_expire(&answers, &clock, &site_look_up);
		growth_later(&answers, &clock, look_up(bytes), bytes,
			     growth_between(&random, 1, 20));
		if (growth_now(&clock) < filled_at) {
			while (count-- > 0)
				insert(&random);
			filled = entry_count;
			continue;
		}
		/* Drawn back to what it was filled to, within some percent. */
		while (count-- > 0) {
			double over = ((double)entry_count - (double)filled) / (double)filled;

			if (entry_count > 0 && growth_chance(&random, 0.5 + 10 * over))
				erase(&random);
			else
				insert(&random);
		}
	}
	growth_end();
	for (i = 0; i < bucket_count; i++) {
		while (buckets[i]) {
			struct entry *entry = buckets[i];

			buckets[i] = entry->next;
			growth_free(&site_add_entry, entry, entry->bytes);
		}
	}
	free(buckets);
	growth_drain(&answers, &site_look_up);
	return 0;
}
