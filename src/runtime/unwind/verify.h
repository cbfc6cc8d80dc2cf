/* SPDX-License-Identifier: MIT */
/*
 * verify=N: every Nth walk is compared, frame by frame, with libgcc's _Unwind_Backtrace. A copy of
 * libgcc's unwinder is linked into our library: nobody registers code with that one, so it takes
 * no lock and never allocates.
 */
#ifndef SEEP_RUNTIME_VERIFY_H
#define SEEP_RUNTIME_VERIFY_H

#include "runtime/rt.h"
#include "runtime/unwind/shortcut.h"

/* A thread's part in it: remembered walks apart from its own, for those made by a shortcut. */
struct rt_proof {
	bool started;
	struct rt_walk walk;
	_Atomic uint64_t full_walks; /* of these, which are none of the program's */
};

/*
 * Compare @walk, which this thread has just made from hook frame @frame; or @shortcut, if it was
 * made by that one, else NULL.
 */
RT_COLD void rt_verify_walk(struct rt_proof *proof, struct rt_walk *walk, const void *frame,
			    const struct rt_shortcut *shortcut);

static inline void rt_verify(struct rt_proof *proof, struct rt_walk *walk, const void *frame,
			     const struct rt_shortcut *shortcut)
{
	if (RT_UNLIKELY(rt_global.verify_every != 0))
		rt_verify_walk(proof, walk, frame, shortcut);
}

#endif
