/* SPDX-License-Identifier: MIT */
/*
 * What is done to a block's memory: guards around it, a wait for what was freed, filling. All of it goes
 * this one way: the functions of rt_next, which allocate by malloc, calloc or memalign of the next
 * allocator, and free by its free. Guards, and a wait that tells who writes to what was freed, take a
 * header in front of each block (track/guarded.h); filling alone takes none (guard/bare.h).
 */
#ifndef SEEP_RUNTIME_GUARD_H
#define SEEP_RUNTIME_GUARD_H

#include "runtime/rt.h"

struct rt_guard_how {
	bool has_headers;	/* else memory is filled, and no more */
	uint64_t guard_bytes;	/* on each side */
	uint64_t waiting_bytes; /* at most, of what was freed */
	uint64_t check_every;	/* allocations, the guards of all blocks; 0: only at the end */
	unsigned fresh, freed;	/* bytes to fill with; LEDGER_FILL_NONE: none */
};

/* From now on. What was allocated before is freed as before. After rt_next_find(). */
RT_COLD void rt_guard_start(const struct rt_guard_how *how);

/* Look at all guards, and at what waits. Not in bookkeeping. */
RT_COLD void rt_guard_look(void);

#endif
