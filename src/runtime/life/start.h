/* SPDX-License-Identifier: MIT */
/* The beginning of recording: at a preloaded process's first allocation, before any constructor. */
#ifndef SEEP_RUNTIME_START_H
#define SEEP_RUNTIME_START_H

#include "runtime/rt.h"

/* Contexts and names begin, in a ledger that is new; false: no memory. */
bool rt_start_contexts(void);

/*
 * The control line of this process's own ledger, which a forked child makes for that; NULL when it
 * has none.
 */
RT_COLD struct ledger_control *rt_control_cold(void);

/* Asked without one: there will be a ledger. Until then what happens is counted early (track/early.h). */
RT_COLD bool rt_is_early(void);

static inline struct ledger_control *rt_control(void)
{
	struct ledger_control *control = rt_mine.control;

	return RT_LIKELY(control != NULL) ? control : rt_control_cold();
}

#endif
