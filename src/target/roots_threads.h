/* SPDX-License-Identifier: MIT */
/*
 * Registers, stacks and thread-local storage of the threads that there are, and the stacks of
 * those that ended, which glibc keeps for later ones.
 */
#ifndef SEEP_TARGET_ROOTS_THREADS_H
#define SEEP_TARGET_ROOTS_THREADS_H

#include "target/roots_parts.h"

/* Adds roots; what is theirs is added to work->cut. After seep_roots_find_heap(). */
void seep_roots_find_threads(struct seep_roots_work *work);

#endif
