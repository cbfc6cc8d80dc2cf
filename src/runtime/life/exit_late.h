/* SPDX-License-Identifier: MIT */
/*
 * Who calls exit() leaves all that its callers have on the stack. Most of it are their variables.
 * But a function that the thread called after its last allocation has a frame where others ran
 * before, and what it has not written yet is what they left there.
 */
#ifndef SEEP_RUNTIME_EXIT_LATE_H
#define SEEP_RUNTIME_EXIT_LATE_H

#include "ledger/ledger_facts.h"

#include <stdint.h>

/* Find these frames for rt_facts; @registers: of who called the end, as of rt_exit_enter(). */
void rt_exit_find_late(const uint64_t registers[LEDGER_EXIT_REGISTERS + 1]);

#endif
