/* SPDX-License-Identifier: MIT */
/*
 * The beginning of recording: at a preloaded process's first allocation, before any constructor;
 * or when somebody who has loaded the library later says so.
 */
#ifndef SEEP_RUNTIME_START_H
#define SEEP_RUNTIME_START_H

#include "runtime/next/next.h"
#include "runtime/rt.h"

/* All but options may be changed afterwards. */
struct rt_start {
	const struct rt_next *next; /* functions to call; NULL: those behind this library */
	const char *options;	    /* as in SEEP_OPTIONS; NULL: none */
	const char *dir;	    /* where the ledger belongs; NULL: the usual place */
	char *const *arguments; /* of the program, one after the other in memory; NULL: withheld */
	uint64_t session;	/* of a recorder; 0: none */
};

/*
 * Start recording this process, if it is not being recorded. From now on every hook records; the
 * caller sees to it that calls come to the hooks. Returns what rt_control() does.
 */
RT_COLD struct ledger_control *rt_start_with(const struct rt_start *start);

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
