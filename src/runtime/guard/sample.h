/* SPDX-License-Identifier: MIT */
/*
 * Guarded samples: one in so many allocations gets a page of its own between pages that nobody may
 * touch, at the page's end or at its begin, and after its free nobody may touch that page until it is
 * another block's. What a program reads or writes there by mistake is a fault at that very instruction,
 * which is noted with all stacks; then the program's own handler is called, or the fault ends the
 * program as it would have. The method is GWP-ASan's (Serebryany et al., 2023).
 *
 * The handler of SIGSEGV is ours from the first sample on. The program's is kept beside it, as if it were
 * the kernel's: what sigaction() and signal() say and do is the same as ever.
 */
#ifndef SEEP_RUNTIME_SAMPLE_H
#define SEEP_RUNTIME_SAMPLE_H

#include "runtime/rt.h"

/* From now on. One in @every, on average. After rt_next_find(), and after all else that stands in rt_next. */
RT_COLD void rt_sample_start(uint64_t every);

/* Is this SIGSEGV, whose handler is ours? */
RT_COLD bool rt_sample_handles(int number);

/* What sigaction(), with what it takes, and signal() do to SIGSEGV then. */
RT_COLD int rt_sample_sigaction(const void *action, void *ret_before);
RT_COLD void *rt_sample_signal(void *handler);

#endif
