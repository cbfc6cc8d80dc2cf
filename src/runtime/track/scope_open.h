/* SPDX-License-Identifier: MIT */
/*
 * What a thread has open, outermost first, and what the ledger is told of it: how often a scope was entered
 * and left, and for how long it was open. How a scope comes here and goes is in scope.h and scope_handle.h.
 */
#ifndef SEEP_RUNTIME_SCOPE_OPEN_H
#define SEEP_RUNTIME_SCOPE_OPEN_H

#include "ledger/ledger_scope.h"
#include "runtime/rt.h"
#include "runtime/track/scope_number.h"
#include "runtime/track/thread.h"

enum { RT_SCOPE_DEPTH_MAX = 1 << 12 };

struct rt_scope_open {
	uint64_t key;	   /* address of the program's variable, or the handle */
	uint64_t since_ns; /* when this thread took it up */
	uint64_t since_cpu_ns;
	uint64_t wall_ns; /* before that */
	uint64_t cpu_ns;
	uint32_t first_row; /* of the ledger that counted its entry */
	uint16_t scope;
	uint16_t tag;
	bool is_handle;
	bool on_stack; /* the variable lies on the thread's own stack */
	bool is_inner; /* the tag was open already further out: its time is counted there */
};

/* Of a thread; kept for whoever adopts its cache. */
struct rt_scopes {
	uint32_t depth;
	uint32_t other_page; /* of another's stack, on which it ran last */
	uint64_t cpu_ns;     /* of the thread, as of */
	uint64_t cpu_at_ns;
	struct rt_scope_place *moving;	 /* scope_handle.c's; NULL: none */
	struct ledger_entries nowhere;	 /* where the ledger has no room */
	uint32_t entries[RT_SCOPES_MAX]; /* index + 1 in the ledger */
	struct rt_scope_open open[RT_SCOPE_DEPTH_MAX];
};

/* All of these in bookkeeping. Whoever opens or closes has the innermost one set afterwards. */

/* There is room for one more; if not, that is noted. */
bool rt_scopes_room(struct rt_thread *thread);

/* Enter one of @tag, which becomes the innermost, and is set so. There is room. */
void rt_scopes_add(struct rt_thread *thread, uint32_t tag, uint64_t key, bool is_handle,
		   bool on_stack);

/* The index of that of @key, among the @most innermost; the depth if there is none. @of: or NULL. */
uint32_t rt_scopes_find(const struct rt_scopes *of, uint64_t key, uint32_t most);

/* Leave that at @index, @now. */
void rt_scopes_close(struct rt_scopes *of, uint32_t index, uint64_t now);

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
