/* SPDX-License-Identifier: MIT */
/*
 * A key-value store that merges. Records stand in a memtable until it is full, then for as long as
 * it takes to write them out. Each table written has an index in memory; four small ones and the
 * large one merge into a new large one. The keys are overwritten ever again and do not become
 * more. Blocks that were read stay until as many others have been.
 */
#include "growth_play.h"

enum { KEYS = 8192, BLOCK_KEYS = 64, TABLES = 4, CACHED = 256 };

GROWTH_SITE(STEADY, put_record);
GROWTH_SITE(STEADY, index_table);
GROWTH_SITE(STEADY, read_block);

struct table {
	unsigned char has[KEYS];
	struct growth_item *index;
};

static struct growth_item *memtable, *flushing;
static size_t memtable_bytes;
static unsigned char written[KEYS]; /* in the memtable */
static struct table small[TABLES], large;
static int table_count;
static struct growth_item *cached[CACHED];
static long cached_count, cache_limit;

static GROWTH_FN void put_record(size_t bytes)
{
	struct growth_item *record = malloc(bytes);

	growth_live(&site_put_record, record, bytes);
	record->bytes = bytes;
	record->next = memtable;
	memtable = record;
	memtable_bytes += bytes;
}

static GROWTH_FN struct growth_item *index_table(const unsigned char *has)
{
	struct growth_item *index = NULL;
	long key, count = 0;

	for (key = 0; key < KEYS; key++)
		count += has[key];
	for (; count > 0; count -= BLOCK_KEYS) {
		size_t bytes = sizeof(*index) +
			       (size_t)(count < BLOCK_KEYS ? count : BLOCK_KEYS) * 12;
		struct growth_item *part = malloc(bytes);

		growth_live(&site_index_table, part, bytes);
		part->bytes = bytes;
		part->next = index;
		index = part;
	}
	return index;
}

static GROWTH_FN void read_block(size_t bytes)
{
	struct growth_item **place = &cached[cached_count++ % cache_limit];
	struct growth_item *block = malloc(bytes);

	growth_live(&site_read_block, block, bytes);
	if (*place)
		growth_free(&site_read_block, *place, (*place)->bytes);
	block->bytes = bytes;
	*place = block;
}

static void write_out(const unsigned char *has, struct table *ret_table)
{
	struct growth_item *before = ret_table->index;

	memmove(ret_table->has, has, KEYS);
	ret_table->index = index_table(ret_table->has);
	growth_free_list(&before, &site_index_table);
}

static void compact(void)
{
	static unsigned char all[KEYS];
	long key;
	int i;

	memcpy(all, large.has, KEYS);
	for (i = 0; i < TABLES; i++)
		for (key = 0; key < KEYS; key++)
			all[key] |= small[i].has[key];
	write_out(all, &large);
	for (i = 0; i < TABLES; i++)
		growth_free_list(&small[i].index, &site_index_table);
	table_count = 0;
}

int main(int argc, char **argv)
{
	struct growth_clock clock = { 0 };
	double rate, noise = 1, load_at, load = 1;
	long keys, key, flushed_at = 0, compact_at = 0;
	size_t limit_bytes;
	uint64_t random;

	if (growth_start(argc, argv) != 0)
		return 2;
	random = growth_stream(0);
	rate = growth_uniform(&random, 4, 20);
	keys = (long)(rate * 10 * growth_uniform(&random, 6, 20));
	limit_bytes = (size_t)(rate * 10 * 250 * growth_uniform(&random, 3, 15));
	cache_limit = growth_between(&random, 64, CACHED);
	load_at = growth_uniform(&random, 5, 50);
	while (growth_tick(&clock)) {
		long puts, reads;

		if (growth_now(&clock) >= load_at) {
			load = growth_uniform(&random, 0.4, 1.6);
			load_at += growth_uniform(&random, 15, 50);
		}
		growth_noise(&random, &noise, 0.95, 0.1);
		puts = growth_arrivals(&random, rate * load * noise);
		while (puts-- > 0) {
			key = growth_between(&random, 0, keys - 1);
			written[key] = 1;
			put_record(growth_size(&random, 64, 1024));
		}
		reads = growth_arrivals(&random, 0.8);
		while (reads-- > 0)
			read_block(growth_size(&random, 1024, 8192));
		if (flushing && clock.tick >= flushed_at) {
			growth_free_list(&flushing, &site_put_record);
			write_out(written, &small[table_count++]);
			memset(written, 0, sizeof(written));
			compact_at = clock.tick + growth_between(&random, 3, 20);
		}
		if (table_count == TABLES && clock.tick >= compact_at)
			compact();
		if (memtable_bytes >= limit_bytes && !flushing && table_count < TABLES) {
			flushing = memtable;
			memtable = NULL;
			memtable_bytes = 0;
			flushed_at = clock.tick + growth_between(&random, 3, 20);
		}
	}
	growth_end();
	growth_free_list(&memtable, &site_put_record);
	growth_free_list(&flushing, &site_put_record);
	for (key = 0; key < TABLES; key++)
		growth_free_list(&small[key].index, &site_index_table);
	growth_free_list(&large.index, &site_index_table);
	for (key = 0; key < CACHED; key++)
		free(cached[key]);
	return 0;
}
