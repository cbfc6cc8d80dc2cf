/* SPDX-License-Identifier: MIT */
/*
 * A forked child is young until it has allocated much or lived long: shells fork by the thousand,
 * and a ledger costs more than such a child does. It has none. Each of its operations is added to
 * "forked" of its nearest ancestor's ledger, and logged in private memory with its call stack. If
 * it is to have a ledger after all, the log is replayed into that. docs/internals/ledger.md,
 * "Fork".
 *
 * One thread uses the log, with its signal handlers. Whatever is out of the ordinary is left to a
 * ledger: the functions below return false then, and nothing has been done.
 */
#ifndef SEEP_RUNTIME_YOUNG_H
#define SEEP_RUNTIME_YOUNG_H

#include "runtime/rt.h"
#include "runtime/track/operation.h"
#include "runtime/track/record.h"
#include "runtime/unwind/kept.h"

/* What an operation did. A realloc is an ALLOC and a FREE. */
enum {
	RT_YOUNG_ALLOC = 1,
	RT_YOUNG_FREE = 2,	/* of a block that an earlier operation allocated */
	RT_YOUNG_INHERITED = 4, /* a free of an ancestor's block */
	RT_YOUNG_UNTRACKED = 8, /* a free of a block that nobody recorded */
};

/* What of an ancestor's "unseen" is so in a child too. */
enum { RT_UNSEEN_INHERITED = LEDGER_UNSEEN_ALLOCATOR | LEDGER_UNSEEN_ARGUMENTS };

struct rt_young_op {
	_Atomic uint16_t what; /* written last; 0: left in the middle, by longjmp */
	uint16_t freed;	       /* of a FREE: which operation's block */
	uint32_t at_ns;	       /* since since_ns */
	/* Of an ALLOC. */
	union {
		uint32_t place; /* rt_young_place(); 0: without a stack */
		uint32_t row;	/* once it is replayed */
	};
	uint32_t usable; /* 0: not known */
	uint64_t size;	 /* of an INHERITED too */
	uintptr_t address;
};

/* What makes a context. */
struct rt_young_place {
	uint64_t hash; /* of the walk */
	struct rt_key key;
	uint32_t count;
	bool truncated;
	uint32_t row; /* once it is replayed; 0: not yet */
	rt_kept_frame frames[];
};

enum {
	RT_YOUNG_OPS = 2048,
	RT_YOUNG_HASHED = 256,
	RT_YOUNG_PLACES_BYTES = (128 << 10) - 2560,
	RT_YOUNG_PLACE_ALIGN = 8,
};

/*
 * The log. Places are taken from the end of their bytes: what most children need of all three lies
 * in one page.
 */
struct rt_young_log {
	_Alignas(LEDGER_PAGE_BYTES) uint8_t places[RT_YOUNG_PLACES_BYTES];
	uint16_t place_by_hash[RT_YOUNG_HASHED]; /* in units of their alignment; 0: none */
	struct rt_young_op ops[RT_YOUNG_OPS];
};
extern RT_HIDDEN struct rt_young_log rt_young_log;

/* @at: bytes before the end. */
static inline struct rt_young_place *rt_young_place(uint32_t at)
{
	uint8_t *end = rt_young_log.places + RT_YOUNG_PLACES_BYTES;

	return (struct rt_young_place *)(void *)(end - at);
}

struct rt_young {
	struct ledger_state *ancestor;
	_Atomic uint64_t busy; /* frame address of the hook that uses the log, else 0 */
	_Atomic bool grows;    /* a ledger is being made, or is there */
	bool is_on; /* this process or, until it begins anew, the one that forked it is young */
	uint32_t first_id;	  /* row of operation i's block: first_id + i */
	uint32_t parent_rows_end; /* first_id of the first young one since the last ledger */
	uint64_t since_ns;	  /* the first operation */
	uint64_t now_ns;	  /* the last one */
	uint64_t allocs_max;	  /* with this many it gets a ledger */
	uint64_t allocs;
	uint64_t alloc_bytes;
	uint64_t abandoned;
	_Atomic uint32_t op_count;
	uint32_t places_bytes; /* used */
	_Atomic uint64_t full_walks;
	struct rt_walk walk;
};
extern RT_HIDDEN struct rt_young rt_young;

/* Is the calling thread the one that uses the log? It is the first one of a young child. */
static inline bool rt_young_is_user(void)
{
	return rt_tls.tid == rt_global.pid;
}

/*
 * Be young. @ancestor: of the nearest ledger, mapped as long as this lasts. @first_id: the first
 * row id after those of who forked us. @walk: of the thread that forked, whose state nobody uses
 * any more; NULL: there is none. False: not possible.
 */
bool rt_young_begin(struct ledger_state *ancestor, uint32_t first_id, const struct rt_walk *walk,
		    uint64_t allocs_max);

/* Add an operation that did @what to sums. */
void rt_young_sum(struct ledger_forked *to, const struct rt_young_op *op, uint32_t what);

/* As rt_record_any() and rt_forget_any(), where rt_mine has no control, but young. */
RT_COLD bool rt_young_record(void *block, size_t size, struct rt_alloc what, const void *frame);
RT_COLD bool rt_young_forget(void *block, struct rt_free how, const void *frame);

/* As rt_resize_begin() and rt_resize_end(). */
RT_COLD bool rt_young_resize_begin(void *block, const void *frame, struct rt_resize *ret_resize);
RT_COLD bool rt_young_resize_end(const struct rt_resize *resize, void *before, void *after,
				 size_t size, const void *frame);

#endif
