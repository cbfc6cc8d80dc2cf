/* SPDX-License-Identifier: MIT */
/*
 * Memory for the length of one rare call, which would be too much for a stack that may be tiny. Any
 * thread, any signal, no lock: pieces lie in a few places, and whoever takes one leaves the place
 * empty. A piece that is left by longjmp, or by a fork of another thread, is lost.
 */
#ifndef SEEP_RUNTIME_SCRATCH_H
#define SEEP_RUNTIME_SCRATCH_H

#include <stddef.h>

/* @bytes that hold anything, at a multiple of 16; NULL: no memory. */
void *rt_scratch_take(size_t bytes);

/* NULL is a no-op. */
void rt_scratch_give(void *scratch);

#endif
