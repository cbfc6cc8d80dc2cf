/* SPDX-License-Identifier: MIT */
#include "runtime/sys/memo.h"

#include "runtime/sys/sys.h"

enum { BUCKETS_FIRST = 1 << 7 };

uint64_t rt_memo_search(struct rt_memo_table *table, uint64_t key)
{
	uint64_t value = 0;

	for (unsigned i = 0; !value && i < RT_MEMO_PROBES; i++) {
		value = rt_memo_look(table, key, i);
		/* A free bucket ends the search. */
		if (!value && !rt_load(&rt_memo_bucket(table, key, i)->check))
			break;
	}
	return value;
}

static uint64_t bytes_of(uint64_t buckets)
{
	return sizeof(struct rt_memo_table) + buckets * sizeof(struct rt_memo_bucket);
}

static uint64_t buckets_of(const struct rt_memo_table *table)
{
	return table->mask / sizeof(struct rt_memo_bucket) + 1;
}

static void empty(struct rt_memo_table *table, uint64_t generation)
{
	rt_empty_table(table, sizeof(*table), bytes_of(buckets_of(table)));
	rt_store(&table->generation, generation);
	rt_store(&table->used, 0);
}

static void put(struct rt_memo_table *table, uint64_t key, uint64_t value)
{
	for (unsigned i = 0; i < RT_MEMO_PROBES; i++) {
		struct rt_memo_bucket *bucket = rt_memo_bucket(table, key, i);
		uint64_t check = rt_load(&bucket->check);

		if (check && (check ^ rt_load(&bucket->value)) != key)
			continue;
		rt_store_release(&bucket->value, value);
		rt_store_release(&bucket->check, key ^ value);
		rt_add(&table->used, !check);
		return;
	}
	/* A cluster this long: let the next growth spread it. */
	rt_add(&table->used, RT_MEMO_PROBES);
}

/*
 * In place of @old, which stays mapped for threads that read it but holds no memory; NULL: no
 * memory.
 */
static struct rt_memo_table *replace(rt_memo *memo, struct rt_memo_table *old, uint64_t buckets,
				     uint64_t generation)
{
	struct rt_memo_table *table = rt_mmap(bytes_of(buckets));

	if (!table)
		return NULL;
	table->mask = (buckets - 1) * sizeof(struct rt_memo_bucket);
	rt_store(&table->generation, generation);
	for (uint64_t i = 0; old && i < buckets_of(old); i++) {
		uint64_t check = rt_load(&old->buckets[i].check);
		uint64_t value = rt_load(&old->buckets[i].value);

		if (check)
			put(table, check ^ value, value);
	}
	if (!atomic_compare_exchange_strong_explicit(memo, &old, table, memory_order_acq_rel,
						     memory_order_acquire)) {
		rt_munmap(table, bytes_of(buckets));
		return old;
	}
	if (old) {
		empty(old, generation);
		rt_count_private(-(int64_t)bytes_of(buckets_of(old)));
	}
	return table;
}

/* In place of a table that is full, or of none. */
static struct rt_memo_table *renew(rt_memo *memo, struct rt_memo_table *old, uint64_t generation,
				   uint64_t most_bytes)
{
	uint64_t buckets = old ? buckets_of(old) * 2 : BUCKETS_FIRST;
	struct rt_memo_table *table = NULL;

	if (!old || (rt_load(&old->generation) == generation &&
		     buckets * sizeof(struct rt_memo_bucket) <= most_bytes))
		table = replace(memo, old, buckets, generation);
	if (table || !old)
		return table;
	empty(old, generation);
	return old;
}

void rt_memo_put(rt_memo *memo, uint64_t key, uint64_t value, uint64_t generation,
		 uint64_t most_bytes)
{
	struct rt_memo_table *table = rt_load_acquire(memo);

	if (!table || rt_load(&table->used) * 4 > buckets_of(table) * 3)
		table = renew(memo, table, generation, most_bytes);
	if (table)
		put(table, key, value);
}

void rt_memo_empty(rt_memo *memo)
{
	struct rt_memo_table *table = rt_load_acquire(memo);

	if (table)
		empty(table, rt_load(&table->generation));
}

void rt_memo_drop(rt_memo *memo)
{
	struct rt_memo_table *table = rt_load_acquire(memo);

	rt_store_release(memo, NULL);
	if (table)
		rt_munmap(table, bytes_of(buckets_of(table)));
}
