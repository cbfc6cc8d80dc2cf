/* SPDX-License-Identifier: MIT */
/*
 * SEEP_BREAK=HASH[:N]: a debugger is to stop at the Nth allocation of one call stack. It is told by a hash
 * of its kind and frames that the library can make, where it has no names: seep report says it.
 */
#ifndef SEEP_RUNTIME_BREAK_H
#define SEEP_RUNTIME_BREAK_H

#include "runtime/rt.h"

struct rt_break {
	uint64_t hash; /* 0: none is wanted */
	uint64_t nth;
	_Atomic uint32_t row; /* in which the wanted stack is counted now; 0: it was not met yet */
	_Atomic uint64_t count; /* allocations there */
};
extern RT_HIDDEN struct rt_break rt_break;

/* @text may be NULL. What is wrong is said on standard error, and nothing is wanted then. */
RT_COLD void rt_break_start(const char *text);

/* The Nth? Raises SIGTRAP. Not in bookkeeping. */
RT_COLD void rt_break_count(void);

/* An allocation was counted in @row. */
static inline void rt_break_met(uint32_t row)
{
	if (RT_UNLIKELY(row == rt_load(&rt_break.row)) && row)
		rt_break_count();
}

#endif
