/* SPDX-License-Identifier: MIT */
/*
 * From a walked path to its row. The hot part is one look-up in a table of raw path hashes; what
 * misses there is folded, added to the ledger's tree, and given a row.
 */
#ifndef SEEP_RUNTIME_CONTEXT_H
#define SEEP_RUNTIME_CONTEXT_H

#include "runtime/rt.h"
#include "runtime/sys/memo.h"
#include "runtime/track/operation.h"
#include "runtime/track/thread.h"

/* From a hash of path and key to a row: id in the low half, its epoch in the high half. */
extern RT_HIDDEN rt_memo rt_raw_rows;

/* Enter the path of @thread's last walk; never fails: at worst the "other" row. */
RT_COLD uint32_t rt_context_make(struct rt_thread *thread, uint64_t hash, struct rt_key key,
				 uint32_t epoch);

/* The same for the context of all that is called from @ra and not walked; @key has RT_KEY_SITE. */
RT_COLD uint32_t rt_context_make_site(uintptr_t ra, uint64_t hash, struct rt_key key,
				      uint32_t epoch);

static inline uint64_t rt_context_hash(uint64_t path_hash, struct rt_key key)
{
	return core_hash_step(path_hash, key.word) | 1;
}

/* The row to which an allocation of this path and key belongs; 0: it has none in this epoch yet. */
static inline uint32_t rt_context_known(uint64_t path_hash, struct rt_key key, uint32_t epoch)
{
	uint64_t row = rt_memo_find(&rt_raw_rows, rt_context_hash(path_hash, key));

	return RT_LIKELY(row >> 32 == epoch) ? (uint32_t)row : 0;
}

/* The same, and if it has none it gets one. */
static inline uint32_t rt_context_row(struct rt_thread *thread, uint64_t path_hash,
				      struct rt_key key, uint32_t epoch)
{
	uint32_t row = rt_context_known(path_hash, key, epoch);

	if (RT_LIKELY(row != 0))
		return row;
	return rt_context_make(thread, rt_context_hash(path_hash, key), key, epoch);
}

/* The ledger's context of a row of ours; NULL: it has none, as "no stack" and "other". */
const struct ledger_context *rt_context_of(uint32_t row);

/* Publish the two contexts that always exist and the root node. False: no room. */
bool rt_contexts_start(void);

/* In a forked child: the tables are empty again; rt_contexts_start comes next. */
void rt_contexts_forked(void);

#endif
