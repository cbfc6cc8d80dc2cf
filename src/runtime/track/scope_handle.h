/* SPDX-License-Identifier: MIT */
/*
 * Scopes that end when they are told to, on any thread. A handle names a place in a private table, and how
 * often that was given out: there its scope stands while it is suspended, with those in it.
 */
#ifndef SEEP_RUNTIME_SCOPE_HANDLE_H
#define SEEP_RUNTIME_SCOPE_HANDLE_H

#include "runtime/track/scope_open.h"

enum {
	RT_SCOPE_HANDLES_MAX = 1 << 14
}; /* at a time; of those that are suspended, with all in them */

/* All of these in bookkeeping. */

/* 0: there are too many. */
uint64_t rt_scope_begin(struct rt_thread *thread, uint32_t tag);
/* False: there is none, or it is open on another thread. */
bool rt_scope_end(struct rt_thread *thread, uint64_t handle);
/* Take it off this thread, with the scopes in it, or put it on. False: as above, or not so. */
bool rt_scope_suspend(struct rt_thread *thread, uint64_t handle);
bool rt_scope_resume(struct rt_thread *thread, uint64_t handle);

/* Its scope has ended with the thread that had it open: it names nothing any more. */
void rt_scope_handle_drop(uint64_t handle);

/* A call above may have been left by longjmp(): what it was about to move is on the thread. */
void rt_scope_handles_mend(struct rt_scopes *of);

/* The ledger was left, with no thread in bookkeeping: all handles name nothing any more. */
void rt_scope_handles_left(void);

/* In a forked child: handles that other threads than that of @mine, or NULL, had open are free again. */
void rt_scope_handles_forked(const struct rt_scopes *mine);

#endif
