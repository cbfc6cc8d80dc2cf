/* SPDX-License-Identifier: MIT */
/*
 * New memory is filled with a byte, if the option asks for it: what the last owner left in it
 * would pass for pointers until it is overwritten, and hide leaks. calloc gives zeros, and a
 * program's own operator new may give what is to stay as it is. Without the option there is
 * nothing of this but a branch in realloc.
 *
 * A program may use all that is usable of a block, and have it kept by realloc: what that adds
 * begins there, not behind the requested size, and so malloc's blocks are filled up to there.
 */
#ifndef SEEP_RUNTIME_FILL_H
#define SEEP_RUNTIME_FILL_H

#include "runtime/rt.h"

extern RT_HIDDEN bool rt_fill_is_on;

/*
 * From now on rt_next's functions that allocate fill what they give with the byte @fresh, and what was
 * freed is filled with @freed; LEDGER_FILL_NONE: it is not. After rt_next_find().
 */
RT_COLD void rt_fill_start(unsigned fresh, unsigned freed);

/*
 * The bytes @from to @to of @block, which may be NULL, are new. Of many, only those of pages that
 * are there: the others are zeros when the kernel gives them, and stay untouched.
 */
void rt_fill(void *block, size_t from, size_t to);
void rt_fill_with(void *block, size_t from, size_t to, uint8_t byte);

/* From so many bytes on @block, which is the next malloc's, is as the kernel gave it, if it is alone. */
bool rt_fill_is_fresh(const void *block, size_t size);

/* @block is the next malloc's, or NULL, and was asked for with @size bytes. */
void rt_fill_block(void *block, size_t size);

#endif
