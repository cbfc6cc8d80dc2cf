/* SPDX-License-Identifier: MIT */
/*
 * Joining a process that runs, and leaving it: the library was loaded by somebody from outside, who
 * calls the two functions of ledger/ledger_attach.h. Once left, the library stays where it is, since
 * threads may be on their way through it, and does nothing; the process may be joined again, with a
 * ledger of its own.
 */
#ifndef SEEP_RUNTIME_JOIN_H
#define SEEP_RUNTIME_JOIN_H

#include "ledger/ledger_attach.h"

void seep_rt_attach(struct ledger_attach *how);
void seep_rt_detach(struct ledger_attach *how);

/* Of struct ledger_entry_page in this process; 0 where there are no more. */
extern uint64_t seep_rt_entry_pages[LEDGER_ENTRY_MODULES_MAX];

#endif
