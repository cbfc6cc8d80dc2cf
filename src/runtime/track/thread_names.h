/* SPDX-License-Identifier: MIT */
/*
 * Threads by name, for by_thread=name: a context is then also of the name that its thread had. The
 * kernel's name counts. It is asked for at a thread's first allocation, and again after each
 * pthread_setname_np() and prctl(PR_SET_NAME): both are hooked.
 */
#ifndef SEEP_RUNTIME_THREAD_NAMES_H
#define SEEP_RUNTIME_THREAD_NAMES_H

#include "runtime/rt.h"
#include "runtime/track/thread.h"

/* That are told apart; their numbers are part of a context's key. */
enum { RT_NAMES_MAX = 1024 };

/* Advanced whenever a thread has named another one. 0: contexts are not told apart by thread. */
extern RT_HIDDEN _Atomic uint32_t rt_names_generation;

/* Names are to be told apart from now on, or are not, in a ledger that has none yet. */
void rt_names_start(bool by_name);

/* The number of this thread's name, never 0. In bookkeeping. */
RT_COLD uint32_t rt_name_now(struct rt_thread *thread);

/* The name with this number, in the ledger; {0, 0} for 0. */
struct ledger_string rt_name_text(uint32_t number);

/* The calling thread has a new name, or some other thread has. Any thread, any signal. */
RT_COLD void rt_name_changed(bool is_own);

#endif
