/* SPDX-License-Identifier: MIT */
/* The beginning of recording: at a preloaded process's first allocation, before any constructor. */
#ifndef SEEP_RUNTIME_START_H
#define SEEP_RUNTIME_START_H

#include "runtime/rt.h"

/*
 * Begin to record, for rt_phase_pass(): @start, a struct rt_start. In a process that was left, again.
 * The next functions are known.
 */
bool rt_start(const void *start);

/* Contexts and names begin, in a ledger that is new; false: no room, which unseen explains. */
bool rt_start_contexts(void);

/*
 * The control line of this process's own ledger, NULL when it has none. A process that has not begun
 * begins, and a forked child without a ledger makes it.
 */
RT_COLD struct ledger_control *rt_control_cold(void);

/*
 * The caller found no control line. True: there will be a ledger, and what happens until then is
 * counted early (track/counters.h).
 */
RT_COLD bool rt_is_early(void);

static inline struct ledger_control *rt_control(void)
{
	struct ledger_control *control = rt_mine.control;

	return RT_LIKELY(control != NULL) ? control : rt_control_cold();
}

#endif
