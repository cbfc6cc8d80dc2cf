/* SPDX-License-Identifier: MIT */
/*
 * From a walked path to its row. The hot part is one look-up in a table of raw path hashes; what
 * misses there is folded, added to the ledger's tree, and given a row under the slow lock.
 */
#ifndef SEEP_RUNTIME_CONTEXT_H
#define SEEP_RUNTIME_CONTEXT_H

#include "runtime/rt.h"
#include "runtime/track/operation.h"
#include "runtime/track/thread.h"

/* hash 0: free. row: id in the low half, its epoch in the high half; 0 = not there (yet). */
struct rt_raw_entry {
	_Atomic uint64_t hash; /* of path and key */
	_Atomic uint64_t row;
};

struct rt_raw_table {
	uint64_t mask;
	uint64_t used; /* under the slow lock */
	uint64_t map_bytes;
	uint64_t generation;
	struct rt_raw_entry entries[];
};

enum { RT_RAW_PROBES = 64 };

extern _Atomic(struct rt_raw_table *) rt_raw_table;

/* Enter the path of @thread's last walk; never fails: at worst the "other" or "no stack" row. */
RT_COLD uint32_t rt_context_make(struct rt_thread *thread, uint64_t hash, struct rt_key key,
				 uint32_t epoch);

/* The row of @hash and its epoch, as in the entry; 0: not there. */
RT_INLINE uint64_t rt_raw_find(uint64_t hash)
{
	struct rt_raw_table *table = atomic_load_explicit(&rt_raw_table, memory_order_acquire);

	for (uint64_t i = 0; RT_LIKELY(table != NULL) && i < RT_RAW_PROBES; i++) {
		struct rt_raw_entry *entry = &table->entries[((hash >> 20) + i) & table->mask];
		uint64_t seen = rt_load_acquire(&entry->hash);

		if (RT_LIKELY(seen == hash)) {
			uint64_t row = rt_load_acquire(&entry->row);

			/* The table may have been emptied and used anew meanwhile. */
			return RT_LIKELY(rt_load(&entry->hash) == hash) ? row : 0;
		}
		if (seen == 0)
			break;
	}
	return 0;
}

/* The row to which an allocation of this path and key belongs now. */
static inline uint32_t rt_context_row(struct rt_thread *thread, uint64_t path_hash,
				      struct rt_key key, uint32_t epoch)
{
	uint64_t hash = core_hash_step(path_hash, key.word) | 1;
	uint64_t row = rt_raw_find(hash);

	if (RT_LIKELY(row >> 32 == epoch && row != 0))
		return (uint32_t)row;
	return rt_context_make(thread, hash, key, epoch);
}

/* Publish the two contexts that always exist and the root node; map the private tables. */
bool rt_contexts_start(void);

/* In a forked child: the tables are empty again; rt_contexts_start comes next. */
void rt_contexts_forked(void);

#endif
