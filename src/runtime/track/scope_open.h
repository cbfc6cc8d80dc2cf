/* SPDX-License-Identifier: MIT */
/*
 * What a thread has open, outermost first, and what the ledger is told of it: how often a scope was entered
 * and left, and for how long it was open.
 */
#ifndef SEEP_RUNTIME_SCOPE_OPEN_H
#define SEEP_RUNTIME_SCOPE_OPEN_H

#include "ledger/ledger_scope.h"
#include "runtime/rt.h"
#include "runtime/track/scope_number.h"
#include "runtime/track/thread.h"

enum { RT_SCOPE_DEPTH_MAX = 1 << 12 };

struct rt_scope_open {
	_Alignas(64) uint64_t key; /* address of the program's variable, or the handle */
	union {
		uint64_t since_ns; /* on a thread: when it began, were it open all the time */
		uint64_t wall_ns;  /* off it: for how long it was open */
	};
	union {
		uint64_t since_cpu_ns;
		uint64_t cpu_ns;
	};
	struct ledger_entries *entries; /* where its entry was counted, */
	uint32_t first_row;		/* in this ledger */
	uint16_t scope;
	uint16_t tag;
	bool is_handle;
	bool on_stack;	/* the variable lies on the thread's own stack */
	bool is_inner;	/* the tag was open already further out: its time is counted there */
	uint64_t known; /* what scope, tag and entries go with, also when it was left; 0: nothing */
};

/* Of a thread; kept for whoever adopts its cache. */
struct rt_scopes {
	uint32_t depth;
	uint32_t other_page; /* of another's stack, on which it ran last */
	uint64_t waited_ns;  /* the clock's time without the thread's own, as of */
	uint64_t cpu_at_ns;
	struct rt_scope_place *moving;	 /* scope_handle.c's; NULL: none */
	struct ledger_entries nowhere;	 /* where the ledger has no room */
	uint32_t entries[RT_SCOPES_MAX]; /* index + 1 in the ledger */
	struct rt_scope_open open[RT_SCOPE_DEPTH_MAX];
};

/* All of these in bookkeeping. */

/*
 * The function at @frame, which the program has called, enters a scope, or leaves it. @variable: on the
 * program's stack until then.
 */
void rt_scope_enter(struct rt_thread *thread, uint32_t tag, const void *variable,
		    const void *frame);
void rt_scope_leave(struct rt_thread *thread, const void *variable);

/* For other ways in and out, scope.h and scope_handle.h, which set the innermost one in the end. */

/* There is room for one more; if not, that is noted. */
RT_COLD bool rt_scopes_make(struct rt_thread *thread);
static inline bool rt_scopes_room(struct rt_thread *thread)
{
	return RT_LIKELY(thread->scopes && thread->scopes->depth < RT_SCOPE_DEPTH_MAX) ||
	       rt_scopes_make(thread);
}

/* Enter one of @tag, which becomes the innermost, and is set so. There is room. */
void rt_scopes_add(struct rt_thread *thread, uint32_t tag, uint64_t key, bool is_handle,
		   bool on_stack);

/* The index of that of @key, among the @most innermost; the depth if there is none. @of: or NULL. */
static inline uint32_t rt_scopes_find(const struct rt_scopes *of, uint64_t key, uint32_t most)
{
	const uint32_t depth = of ? of->depth : 0;

	for (uint32_t i = depth; i-- > 0 && most-- > 0;)
		if (of->open[i].key == key)
			return i;
	return depth;
}

/* Leave that at @index, @now. */
void rt_scopes_close(struct rt_scopes *of, uint32_t index, uint64_t now);
/* And those of variables on the thread's stack below @sp, from @index on inwards: their functions are gone. */
RT_COLD void rt_scopes_close_dead(struct rt_scopes *of, uint32_t index, uintptr_t sp);

/* Take that at @index off the thread, to *@ret_open: it goes on elsewhere, later. */
void rt_scopes_take_off(struct rt_scopes *of, uint32_t index, uint64_t now,
			struct rt_scope_open *ret_open);

/* Go on with @open, as the innermost; without room it counts as left, nobody knows when. */
void rt_scopes_put_on(struct rt_scopes *of, const struct rt_scope_open *open, uint64_t now);

/* That at @index was left, nobody knows when. */
void rt_scopes_forget(struct rt_scopes *of, uint32_t index);

/* The innermost scope is another one: what follows is its. */
void rt_scopes_set_present(struct rt_thread *thread);

#endif
