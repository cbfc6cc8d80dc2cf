/* SPDX-License-Identifier: MIT */
/*
 * Recording one operation: what every hook calls around the next allocator. Allocations are
 * recorded after they were made, frees forgotten before they happen. errno is never touched.
 * Without a ledger, of a process that will have one, they are counted early (counters.h).
 */
#ifndef SEEP_RUNTIME_RECORD_H
#define SEEP_RUNTIME_RECORD_H

#include "runtime/rt.h"
#include "runtime/track/operation.h"

/* A cell stands for blocks at multiples of 16, which is what every malloc must give. */
enum { RT_BLOCK_MASK = 15 };

/*
 * @block, of @size requested bytes or NULL, was allocated by a hook with frame address @frame.
 * Gives @block.
 */
RT_HOT void *rt_record_ready(void *block, size_t size, struct rt_alloc alloc, const void *frame);

/*
 * A block came from another definition of the operator. When that called malloc, it is recorded
 * already: @before is what rt_record_fingerprint() gave before the call. Only in a process that is
 * recorded.
 */
RT_COLD bool rt_record_is_new(const void *block, uint64_t before);
RT_COLD uint64_t rt_record_fingerprint(void);

/* @block is about to be freed by a hook with frame address @frame. What is wrong is noted. */
RT_HOT void rt_forget_ready(void *block, struct rt_free how, const void *frame);

/* Objects may have been unloaded: the hook at @frame comes from dlclose or the loader. */
RT_COLD void rt_modules_unloaded(const void *frame);

#endif
