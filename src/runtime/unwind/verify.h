/* SPDX-License-Identifier: MIT */
/*
 * verify=N: every Nth walk is compared, frame by frame, with libgcc's _Unwind_Backtrace.
 */
#ifndef SEEP_RUNTIME_VERIFY_H
#define SEEP_RUNTIME_VERIFY_H

#include "runtime/rt.h"
#include "runtime/unwind/shortcut.h"

/* A thread's part in it. */
struct rt_proof {
	uintptr_t verifying; /* frame out of which libgcc walks for us, and may allocate; else 0 */
	bool started;
	struct rt_walk walk; /* of walks that were made by a shortcut */
};

/* Load libgcc_s; false when it is not to be had. From the constructor only: it calls dlopen. */
RT_COLD bool rt_verify_start(void);

/*
 * Compare @walk, which this thread has just made from hook frame @frame; or @shortcut, if it was made
 * by that one, else NULL.
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
