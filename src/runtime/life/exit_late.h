/* SPDX-License-Identifier: MIT */
/*
 * Who calls exit() leaves all that its callers have on the stack. Most of it are their variables.
 * But a function that the thread called after its last allocation has a frame where others ran
 * before, and what it has not written yet is what they left there: a late frame.
 */
#ifndef SEEP_RUNTIME_EXIT_LATE_H
#define SEEP_RUNTIME_EXIT_LATE_H

#include "ledger/ledger_facts.h"

#include <stdint.h>

/*
 * Note in rt_facts which frames are late; where the way outward cannot be followed, none is.
 * @registers: of who called the end, as of rt_exit_enter()
 *
 * By the thread that called the end, also in a handler. Takes no lock.
 */
void rt_exit_find_late(const uint64_t registers[LEDGER_EXIT_REGISTERS + 1]);

#endif
