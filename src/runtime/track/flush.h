/* SPDX-License-Identifier: MIT */
/*
 * Moving what a slot holds into its row, with a record of what the row is to hold, so that whoever
 * comes after a thread that stopped in the middle can complete it. docs/internals/ledger.md, "A
 * flush" and "Redo". The only stores to a row: what goes by without a slot adds to words of its
 * own.
 */
#ifndef SEEP_RUNTIME_FLUSH_H
#define SEEP_RUNTIME_FLUSH_H

#include "runtime/rt.h"
#include "runtime/track/thread.h"

/* Add @slot to its row and empty it. False, at once, when another thread is at that row. */
RT_COLD bool rt_slot_flush(struct rt_thread *thread, struct ledger_slot *slot);

/*
 * Complete the flush that a hook left by longjmp, or a thread that is gone and had @thread's cache,
 * had begun.
 */
void rt_redo(struct rt_thread *thread);

#endif
