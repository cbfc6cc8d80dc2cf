/* SPDX-License-Identifier: MIT */
/*
 * Guarded blocks that the program has freed wait here, filled with one byte, until as many bytes came
 * after them: who writes to one is found out when it leaves, or at the process's end.
 */
#ifndef SEEP_RUNTIME_WAITING_H
#define SEEP_RUNTIME_WAITING_H

#include "runtime/rt.h"

/* At most @most_bytes wait, headers and guards included; 0: none does. @byte is what they hold. */
RT_COLD void rt_waiting_start(uint64_t most_bytes, uint8_t byte);

/* @block, in the state LEDGER_GUARDED_WAITING, is ours: it is given back to the next allocator sooner or later. */
void rt_waiting_put(void *block);

/* Where there is no memory: gives back all that waits. False: nothing did. */
RT_COLD bool rt_waiting_give_back(void);

/* Note what was written to any that waits. Not in bookkeeping. */
RT_COLD void rt_waiting_look(void);

#endif
