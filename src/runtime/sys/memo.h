/* SPDX-License-Identifier: MIT */
/*
 * A memo: what was found out once, by mixed 64-bit key, for every thread to read and to add to without a
 * lock. It may forget: whoever misses a key finds the answer again.
 *
 * A bucket holds a value, and its key in exclusive-or with that value (Hyatt and Mann, "A
 * lockless transposition table in parallel chess", 2002). Words of two different stores give no key
 * that anybody asks for: keys and values may be near each other, mixed keys are not. So a bucket may
 * be changed or emptied at any moment, and a thread may stop between two stores for good: left by
 * longjmp, killed by a fork.
 */
#ifndef SEEP_RUNTIME_MEMO_H
#define SEEP_RUNTIME_MEMO_H

#include "runtime/rt.h"

struct rt_memo_bucket {
	_Atomic uint64_t check; /* key ^ value; 0: free */
	_Atomic uint64_t value;
};

struct rt_memo_table {
	uint64_t mask;
	_Atomic uint64_t used;
	_Atomic uint64_t generation; /* in which it was last empty */
	uint64_t spare;
	struct rt_memo_bucket buckets[];
};

/* Zero: empty. */
typedef _Atomic(struct rt_memo_table *) rt_memo;

enum { RT_MEMO_PROBES = 48 };

/* A key of what is no hash: another for each @word, none for 0. */
RT_INLINE uint64_t rt_memo_key(uint64_t word)
{
	return word * 0x9e3779b97f4a7c15ull;
}

/* The value of @key, whose upper half is the first bucket to look at; 0: not there. */
RT_INLINE uint64_t rt_memo_find(rt_memo *memo, uint64_t key)
{
	struct rt_memo_table *table = rt_load_acquire(memo);
	uint64_t place = key >> 32;

	for (unsigned i = 0; RT_LIKELY(table != NULL) && i < RT_MEMO_PROBES; i++) {
		struct rt_memo_bucket *bucket = &table->buckets[(place + i) & table->mask];
		uint64_t check = rt_load_acquire(&bucket->check);
		uint64_t value = rt_load_acquire(&bucket->value);

		if (RT_LIKELY((check ^ value) == key))
			return value;
		if (check == 0)
			break;
	}
	return 0;
}

/*
 * Add @value, not 0, in place of what @key had. A table that is three quarters full becomes one of
 * twice the size; but one that was filled since before @generation, or is the largest of @most_bytes, is
 * emptied: keys of older generations are not asked for again.
 */
RT_COLD void rt_memo_put(rt_memo *memo, uint64_t key, uint64_t value, uint64_t generation,
			 uint64_t most_bytes);

/* Forget all. */
RT_COLD void rt_memo_empty(rt_memo *memo);

/* The same where nobody reads it; the next table is small. */
RT_COLD void rt_memo_drop(rt_memo *memo);

#endif
