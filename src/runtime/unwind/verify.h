/* SPDX-License-Identifier: MIT */
/*
 * verify=N: every Nth walk is compared, frame by frame, with libgcc's _Unwind_Backtrace.
 */
#ifndef SEEP_RUNTIME_VERIFY_H
#define SEEP_RUNTIME_VERIFY_H

#include "runtime/rt.h"
#include "runtime/track/thread.h"
#include "runtime/unwind/shortcut.h"

/* Load libgcc_s; false when it is not to be had. From the constructor only: it calls dlopen. */
RT_COLD bool rt_verify_start(void);

/*
 * Compare the walk that @thread has just made from hook frame @frame; or @shortcut, if it was made
 * by that one, else NULL.
 */
RT_COLD void rt_verify_walk(struct rt_thread *thread, const void *frame,
			    const struct rt_shortcut *shortcut);

static inline void rt_verify(struct rt_thread *thread, const void *frame,
			     const struct rt_shortcut *shortcut)
{
	if (RT_UNLIKELY(rt_global.verify_every != 0))
		rt_verify_walk(thread, frame, shortcut);
}

#endif
