/* SPDX-License-Identifier: MIT */
/*
 * Saying that the process is about to end, and waiting for a recorder that wants a last look.
 */
#ifndef SEEP_RUNTIME_EXIT_H
#define SEEP_RUNTIME_EXIT_H

#include "runtime/rt.h"

/*
 * Note the end in the ledger; if a live recorder is registered, wait until it acknowledges, at
 * most exit_wait_ms. Nothing happens in a process that does not own the ledger. An abort that a
 * handler leaves needs no word: the recorder goes on, and the next end is noted in its place.
 */
void rt_exit_notice(enum ledger_ended ended, int status);

/* exec failed: the process goes on, if that was its last word. */
void rt_exit_withdraw(void);

#endif
