/* SPDX-License-Identifier: MIT */
/*
 * Guards around blocks, and a wait for what was freed (track/guarded.h, guard/waiting.h). As any of it
 * needs a header in front of each block, all of it goes this one way, filling too: the functions of
 * rt_next, which allocate by the malloc, or calloc, of the next allocator, and free by its free.
 */
#ifndef SEEP_RUNTIME_GUARD_H
#define SEEP_RUNTIME_GUARD_H

#include "runtime/rt.h"

struct rt_guard_how {
	uint64_t guard_bytes;	/* on each side */
	uint64_t waiting_bytes; /* at most, of what was freed */
	uint64_t check_every;	/* allocations, the guards of all blocks; 0: only at the end */
	unsigned fresh, freed;	/* bytes to fill with; LEDGER_FILL_NONE: none, or the usual one */
};

/* From now on. What was allocated before is freed as before. After rt_next_find(). */
RT_COLD void rt_guard_start(const struct rt_guard_how *how);

/* Look at all guards, and at what waits. Not in bookkeeping. */
RT_COLD void rt_guard_look(void);

#endif
