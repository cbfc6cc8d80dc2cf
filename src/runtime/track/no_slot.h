/* SPDX-License-Identifier: MIT */
/*
 * Counting in a row without a slot: what a thread without a cache does, a handler that interrupted
 * our books, and a thread that found no slot in time.
 */
#ifndef SEEP_RUNTIME_NO_SLOT_H
#define SEEP_RUNTIME_NO_SLOT_H

#include "runtime/rt.h"

/*
 * Complete entered, and add what stands in spill and late to its rows, whatever unsettled says:
 * only in an operation that interrupted no other, or instead of it.
 */
RT_COLD void rt_settle(struct rt_thread *thread);

/*
 * In a handler that may be about to replace the program: show in their rows the frees that wait for
 * the interrupted flush; and take them away again, before it goes on.
 */
void rt_late_show(struct rt_thread *thread);
void rt_late_hide(struct rt_thread *thread);

/*
 * Without slots: nested in our own bookkeeping, or without a cache. The "no stack" row is changed
 * by atomic adds only and never stands in a slot. rt_row_free counts in @row, of this process's own,
 * and takes it out of the live total; @thread may be NULL. All do nothing in a forked child that
 * has no ledger (yet): see rt_thread_start.
 */
RT_COLD void rt_row_free(struct rt_thread *thread, uint32_t row, uint64_t size);
RT_COLD void rt_no_stack_alloc(uint64_t size);
RT_COLD void rt_no_stack_free(uint64_t size);

#endif
