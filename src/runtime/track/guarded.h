/* SPDX-License-Identifier: MIT */
/* Blocks between guards: ledger/ledger_guarded.h. */
#ifndef SEEP_RUNTIME_GUARDED_H
#define SEEP_RUNTIME_GUARDED_H

#include "ledger/ledger_guarded.h"
#include "runtime/rt.h"
#include "runtime/track/pagemap.h"
#include "runtime/track/sampled.h"

/* Of each guard, a multiple of 16; and with the header. Of no bytes with it: there are no guards. */
extern RT_HIDDEN size_t rt_guard_bytes, rt_guard_front_bytes;

/* A sandbox may kill who reads memory by a system call. */
extern RT_HIDDEN _Atomic bool rt_guard_is_blind;

/* Some module may free blocks past our hooks: no more of them become other than the next allocator's. */
extern RT_HIDDEN _Atomic bool rt_guard_is_over;

static inline struct ledger_guarded *rt_guarded_of(const void *block)
{
	return (struct ledger_guarded *)((uintptr_t)block - rt_guard_front_bytes);
}

/* What the program's pointer leads to, which may be anything. */
enum ledger_guarded_state rt_guarded_state(const void *block);

/* Of a block of the C library, with or without guards: by its header. 0: it waits. */
RT_COLD uint64_t rt_guarded_bytes(const void *block);

/* What a cell says of it beside the rest. */
static inline uint32_t rt_guarded_flags(const void *block)
{
	const bool is_guarded = RT_UNLIKELY(rt_guard_front_bytes != 0) &&
				rt_guarded_state(block) == LEDGER_GUARDED_LIVE;

	return is_guarded || RT_UNLIKELY(rt_is_sampled(block)) ? LEDGER_CELL_GUARDED : 0;
}

/*
 * The live block @at is about to be freed, or given to realloc, by the hook at @frame: notes where
 * that is, and what has happened to its guards. Not in bookkeeping.
 */
RT_COLD void rt_guarded_retire(const struct rt_block *at, const void *frame);

/*
 * The byte at @at, beside @block, was written over; 0: none was. Where a look has noted it of this block,
 * it is not noted again. @frame: the block ends there, by the hook; NULL: it was only looked at. Not in
 * bookkeeping.
 */
RT_COLD void rt_guarded_note(const struct rt_block *block, uintptr_t at, const void *frame);

/*
 * Note what was written to @block, which waits, but is nobody else's meanwhile; once, as above. @ends: it
 * waits no longer. False: its header was written over, and nobody knows where it begins. Not in
 * bookkeeping.
 */
bool rt_guarded_check_waiting(void *block, bool ends);

/* Was the block that begins there freed, and is nobody else's yet? *@ret_freed_row: where; 0: not known. */
RT_COLD bool rt_guarded_waits(const void *block, uint32_t *ret_freed_row);

/*
 * Look at the guards of all live blocks, whatever other threads do meanwhile, and note what has
 * happened to them. Not in bookkeeping.
 */
RT_COLD void rt_guarded_look(void);

#endif
