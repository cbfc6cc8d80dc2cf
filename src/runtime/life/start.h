/* SPDX-License-Identifier: MIT */
/*
 * The beginning of recording: at the process's first allocation, before any constructor, and in
 * a forked child at its first allocation or free.
 */
#ifndef SEEP_RUNTIME_START_H
#define SEEP_RUNTIME_START_H

#include "runtime/rt.h"

/*
 * The control line of this process's own ledger, NULL when nothing is to be recorded. In a
 * forked child the first call gives it a ledger of its own.
 */
RT_COLD struct ledger_control *rt_control_cold(void);

static inline struct ledger_control *rt_control(void)
{
	struct ledger_control *control = rt_mine.control;

	return RT_LIKELY(control != NULL) ? control : rt_control_cold();
}

#endif
