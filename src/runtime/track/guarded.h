/* SPDX-License-Identifier: MIT */
/*
 * Blocks between guards. In front of the program's block stands one of ours:
 *
 *	the next allocator's | header | front guard | the program's block | rear guard |
 *	                     16       rt_guard_bytes                       rt_guard_bytes, and up to 15
 *
 * The header is believed only if its tag says so, which is made of all that matters in it, of its
 * address and of a secret: no other memory passes for one, nor does a copy of one, or one that was
 * written over.
 */
#ifndef SEEP_RUNTIME_GUARDED_H
#define SEEP_RUNTIME_GUARDED_H

#include "runtime/rt.h"
#include "runtime/track/pagemap.h"
#include "runtime/track/sampled.h"

/* Eight of it are no address, and stand out in a debugger. */
enum { RT_GUARD_BYTE = 0xfd, RT_GUARD_ALIGNMENT = 16 };

struct rt_guarded {
	_Atomic uint64_t tag;
	uint64_t size;	    /* usable bytes, which are those requested */
	uint32_t distance;  /* / 16, from the next allocator's block; 0: not known any more */
	uint32_t freed_row; /* 0: not known */
	uint64_t cell;	    /* as it was, once the block was freed; 0: it was not recorded */
};

enum rt_guarded_state {
	RT_GUARDED_NONE, /* no such block */
	RT_GUARDED_LIVE = 1,
	RT_GUARDED_WAITING, /* freed by the program, and not by us */
};

/* Of each guard, a multiple of 16; and with the header. Of no bytes with it: there are no guards. */
extern RT_HIDDEN size_t rt_guard_bytes, rt_guard_front_bytes;

/* A sandbox may kill who reads memory by a system call. */
extern RT_HIDDEN _Atomic bool rt_guard_is_blind;

static inline struct rt_guarded *rt_guarded_of(const void *block)
{
	return (struct rt_guarded *)((uintptr_t)block - rt_guard_front_bytes);
}

static inline size_t rt_guarded_rear_bytes(size_t size)
{
	return rt_guard_bytes + (-size & (RT_GUARD_ALIGNMENT - 1));
}

/* The tag that a block's header has in this state. */
uint64_t rt_guarded_tag(const void *block, const struct rt_guarded *header,
			enum rt_guarded_state state);

/* What the program's pointer leads to, which may be anything. */
enum rt_guarded_state rt_guarded_state(const void *block);

/* What a cell says of it beside the rest. */
static inline uint32_t rt_guarded_flags(const void *block)
{
	const bool is_guarded = RT_UNLIKELY(rt_guard_front_bytes != 0) &&
				rt_guarded_state(block) == RT_GUARDED_LIVE;

	return is_guarded || RT_UNLIKELY(rt_is_sampled(block)) ? LEDGER_CELL_GUARDED : 0;
}

/* The first of @count @bytes that is not @byte; @count: all are. */
size_t rt_guarded_first_other(const uint8_t *bytes, size_t count, uint8_t byte);

/*
 * The live block @at is about to be freed, or given to realloc, by the hook at @frame: notes where
 * that is, and what has happened to its guards. Not in bookkeeping.
 */
RT_COLD void rt_guarded_retire(const struct rt_block *at, const void *frame);

/* Was the block that begins there freed, and is nobody else's yet? *@ret_freed_row: where; 0: not known. */
RT_COLD bool rt_guarded_waits(const void *block, uint32_t *ret_freed_row);

/*
 * Look at the guards of all live blocks, whatever other threads do meanwhile, and note what has
 * happened to them. Not in bookkeeping.
 */
RT_COLD void rt_guarded_look(void);

#endif
