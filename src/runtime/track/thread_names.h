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

/* Names are to be told apart from now on, or are not, in a ledger that has none yet. */
void rt_names_start(bool by_name);

/* What this thread is called now, into its tag. In bookkeeping. */
RT_COLD void rt_name_ask(struct rt_thread *thread);

/* The calling thread has a new name, or some other thread has. Any thread, any signal. */
RT_COLD void rt_name_changed(bool is_own);

#endif
