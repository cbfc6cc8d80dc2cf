/* SPDX-License-Identifier: MIT */
/*
 * Scopes: stretches of a thread's work that the program has named by tags. What is allocated meanwhile
 * has contexts of its own (the scope is part of their key), so what a scope holds is told by rows; how
 * often and for how long it was open, and what was freed in it, stands in the ledger's entries.
 *
 * Those that longjmp() jumps out of are closed by then. What leaves functions in another way without
 * running their cleanups is noticed when a scope further out on the same stack is left.
 */
#ifndef SEEP_RUNTIME_SCOPE_H
#define SEEP_RUNTIME_SCOPE_H

#include "runtime/rt.h"
#include "runtime/track/operation.h"
#include "runtime/track/scope_open.h"

/* By row index: the tag of the scope that its blocks were allocated in. NULL: there was no scope yet. */
extern RT_HIDDEN struct rt_row_tags {
	uint16_t *_Atomic tags;
	uint64_t count;
} rt_row_tags;

/* All of these in bookkeeping of the function at @frame, which the program has called. */

/* The program jumps out, by longjmp(), to where its stack pointer was @sp. */
void rt_scope_jump(struct rt_thread *thread, uintptr_t sp, const void *frame);

/* The hook at @frame has found that its thread's bookkeeping was left by longjmp(): so were scopes below. */
void rt_scopes_mend(struct rt_thread *thread, uintptr_t frame);

/* @row is one of @key's scope. */
RT_COLD void rt_scope_row(uint32_t row, struct rt_key key);

/* @row's block of @size bytes, that stands for 2^@weight_log2, is freed in a scope. */
static inline void rt_scope_free(struct rt_thread *thread, uint32_t row, uint64_t size,
				 unsigned weight_log2)
{
	struct ledger_entries *entries = thread->entries;
	const uint16_t *tags = rt_load(&rt_row_tags.tags);
	const uint32_t index = rt_row_index(row);
	bool own = tags && index < rt_row_tags.count && tags[index] == thread->open_tag;

	rt_bump(own ? &entries->own_frees : &entries->foreign_frees, UINT64_C(1) << weight_log2);
	rt_bump(own ? &entries->own_freed_bytes : &entries->foreign_freed_bytes,
		size << weight_log2);
}

/* @thread begins, with a cache that another may have had; in a forked child with what was open. */
void rt_scopes_begin(struct rt_thread *thread);

/* @thread's ledger was left. What was open may have been left meanwhile: nothing is. */
void rt_scopes_left(struct rt_thread *thread);

/* In a forked child, whose ledger is new: the scopes keep their numbers. */
void rt_scopes_forked(void);

#endif
