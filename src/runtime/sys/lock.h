/* SPDX-License-Identifier: MIT */
/*
 * The slow lock: held while a new context is added and while the module list changes. It is the
 * only lock of the runtime and a leaf: nothing is called under it that could take another.
 *
 * Its word is the owner's thread id, so that a holder that was killed, cancelled or left by
 * longjmp is recognised: the first two by the kernel's answer, the third by the thread itself
 * when it next enters a hook. What it guards is append-and-publish, hence whole at any moment.
 */
#ifndef SEEP_RUNTIME_LOCK_H
#define SEEP_RUNTIME_LOCK_H

#include "runtime/rt.h"

/*
 * False after 200 ms under one owner that does nothing, or 5 s in all: the caller then counts
 * without a stack.
 */
RT_COLD bool rt_lock_slow(uint32_t tid);
void rt_unlock_slow(uint32_t tid);

/* Release it if @tid holds it: after an abandoned hook, and in a new thread of the same id. */
void rt_lock_recover(uint32_t tid);

/* In a forked child, whose other threads are gone. */
void rt_lock_forked(void);

#endif
