/* SPDX-License-Identifier: MIT */
/*
 * A memo: what was found out once, by mixed 64-bit key, for every thread to read and to add to
 * without a lock. It may forget: whoever misses a key finds the answer again.
 *
 * A bucket holds a value, and its key in exclusive-or with that value (Hyatt and Mann, "A
 * lockless transposition table in parallel chess", 2002). Words of two different stores give no key
 * that anybody asks for: keys and values may be near each other, mixed keys are not. So a bucket
 * may be changed or emptied at any moment, and a thread may stop between two stores for good: left
 * by longjmp, killed by a fork.
 */
#ifndef SEEP_RUNTIME_MEMO_H
#define SEEP_RUNTIME_MEMO_H

#include "runtime/rt.h"

struct rt_memo_bucket {
	_Atomic uint64_t check; /* key ^ value; 0: free */
	_Atomic uint64_t value;
};

struct rt_memo_table {
	uint64_t mask; /* of an offset in bytes: see rt_memo_bucket() */
	_Atomic uint64_t used;
	_Atomic uint64_t generation; /* in which it was last empty */
	_Alignas(16) struct rt_memo_bucket buckets[];
};

/* Zero: empty. */
typedef _Atomic(struct rt_memo_table *) rt_memo;

enum { RT_MEMO_PROBES = 48 };

/* A key of what is no hash: another for each @word, none for 0. */
RT_INLINE uint64_t rt_memo_key(uint64_t word)
{
	return word * 0x9e3779b97f4a7c15ull;
}

/*
 * The bucket that the upper half of @key and @step lead to. In bytes: each step of a walk waits for
 * this address.
 */
RT_INLINE struct rt_memo_bucket *rt_memo_bucket(struct rt_memo_table *table, uint64_t key,
						uint64_t step)
{
	uint64_t at = (key >> 28) + step * sizeof(struct rt_memo_bucket);

	return (struct rt_memo_bucket *)((char *)table->buckets + (at & table->mask));
}

/* The value of @key in the bucket that @key and @step lead to; 0: another one's. */
RT_INLINE uint64_t rt_memo_look(struct rt_memo_table *table, uint64_t key, uint64_t step)
{
	const struct rt_memo_bucket *bucket = rt_memo_bucket(table, key, step);
	uint64_t value = rt_load_acquire(&bucket->value);

	return RT_LIKELY((rt_load_acquire(&bucket->check) ^ value) == key) ? value : 0;
}

/* As rt_memo_find(), in all buckets where it may be. */
RT_APART uint64_t rt_memo_search(struct rt_memo_table *table, uint64_t key);

/*
 * The value of @key, whose upper half is the first bucket to look at; 0: not there. Three looks are
 * inlined: they find most keys, and a loop would take registers from what it is inlined into.
 */
RT_INLINE uint64_t rt_memo_find(rt_memo *memo, uint64_t key)
{
	struct rt_memo_table *table = rt_load_acquire(memo);
	uint64_t value;

	if (RT_UNLIKELY(!table))
		return 0;
	value = rt_memo_look(table, key, 0);
	if (RT_LIKELY(value != 0))
		return value;
	value = rt_memo_look(table, key, 1);
	if (RT_LIKELY(value != 0))
		return value;
	value = rt_memo_look(table, key, 2);
	return RT_LIKELY(value != 0) ? value : rt_memo_search(table, key);
}

/* The bucket of @key will be looked at. */
static inline void rt_memo_prefetch(rt_memo *memo, uint64_t key)
{
	struct rt_memo_table *table = rt_load_acquire(memo);

	if (RT_LIKELY(table != NULL))
		__builtin_prefetch(rt_memo_bucket(table, key, 0));
}

/*
 * Add @value, not 0, in place of what @key had. A table that is three quarters full becomes one of
 * twice the size; but one that was filled since before @generation, or is the largest of
 * @most_bytes, is emptied: keys of older generations are not asked for again. A table that gave way
 * stays mapped, without memory: others may still be reading it.
 */
RT_COLD void rt_memo_put(rt_memo *memo, uint64_t key, uint64_t value, uint64_t generation,
			 uint64_t most_bytes);

/* Forget all. */
RT_COLD void rt_memo_empty(rt_memo *memo);

/* The same where nobody reads it; the next table is small. */
RT_COLD void rt_memo_drop(rt_memo *memo);

#endif
