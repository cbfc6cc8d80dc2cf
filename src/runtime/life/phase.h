/* SPDX-License-Identifier: MIT */
/*
 * Is this process recorded? A ledger is made once, by one thread; others go on meanwhile, and what
 * they do is counted early (track/counters.h).
 */
#ifndef SEEP_RUNTIME_PHASE_H
#define SEEP_RUNTIME_PHASE_H

#include "runtime/rt.h"

enum rt_phase {
	RT_NOT_YET = 0,
	RT_STARTING, /* a ledger is being made */
	RT_ON,	     /* there is one, or this is a forked child that will have one */
	RT_OFF,	     /* nothing is recorded in this process, and nothing will be */
};

enum rt_phase rt_phase_now(void);

/*
 * If this is phase @from, call @make with signals held, but not those of faults: on if it returns
 * true, else off. And wait:
 */
void rt_phase_pass(enum rt_phase from, bool (*make)(const void *how), const void *how);

/* For the end of another thread's RT_STARTING: 2 ms in all, all threads together. */
void rt_phase_wait(void);

/* If this is phase @from, from now on it is RT_OFF. Returns whether it was. */
bool rt_phase_end(enum rt_phase from);

/* RT_STARTING, by another thread of this process. */
bool rt_phase_is_others(void);

#endif
