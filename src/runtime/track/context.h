/* SPDX-License-Identifier: MIT */
/*
 * From a walked path to its row. The hot part is one look-up in a table of raw path hashes; what
 * misses there is folded, added to the ledger's tree, and given a row under the slow lock.
 */
#ifndef SEEP_RUNTIME_CONTEXT_H
#define SEEP_RUNTIME_CONTEXT_H

#include "runtime/rt.h"
#include "runtime/sys/memo.h"
#include "runtime/track/operation.h"
#include "runtime/track/thread.h"

/* From a hash of path and key to a row: id in the low half, its epoch in the high half. */
extern rt_memo rt_raw_rows;

/* Enter the path of @thread's last walk; never fails: at worst the "other" or "no stack" row. */
RT_COLD uint32_t rt_context_make(struct rt_thread *thread, uint64_t hash, struct rt_key key,
				 uint32_t epoch);

/* The row to which an allocation of this path and key belongs now. */
static inline uint32_t rt_context_row(struct rt_thread *thread, uint64_t path_hash,
				      struct rt_key key, uint32_t epoch)
{
	uint64_t hash = core_hash_step(path_hash, key.word) | 1;
	uint64_t row = rt_memo_find(&rt_raw_rows, hash);

	if (RT_LIKELY(row >> 32 == epoch && row != 0))
		return (uint32_t)row;
	return rt_context_make(thread, hash, key, epoch);
}

/* Publish the two contexts that always exist and the root node; map the private tables. */
bool rt_contexts_start(void);

/* In a forked child: the tables are empty again; rt_contexts_start comes next. */
void rt_contexts_forked(void);

#endif
