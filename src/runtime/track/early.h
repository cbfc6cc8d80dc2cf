/* SPDX-License-Identifier: MIT */
/*
 * Operations of a process whose ledger is not there yet: another thread makes it, on a file system
 * that may be slow, or a signal handler in a forked child interrupted a hook that began before the
 * fork. They are counted in private memory, without a stack, and go into the ledger when it is
 * there. Nobody waits for that. Any thread, any signal.
 */
#ifndef SEEP_RUNTIME_EARLY_H
#define SEEP_RUNTIME_EARLY_H

#include "runtime/rt.h"

/* @block, not NULL, was allocated; @flags: of its cell. */
RT_COLD void rt_early_alloc(void *block, size_t size, uint32_t flags);

/* A block with this @cell value, 0 for none that is known, and @size was freed. */
RT_COLD void rt_early_freed(uint64_t cell, uint64_t size);

/* Into the ledger, if it is there. */
RT_COLD void rt_early_settle(void);

/*
 * Take all that was counted early, for a process that ends before it has a ledger. False: there was
 * nothing.
 */
struct rt_sum;
RT_COLD bool rt_early_take(struct rt_sum *ret_sum);

#endif
