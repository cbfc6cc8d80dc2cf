/* SPDX-License-Identifier: MIT */
/*
 * The room of a thread's walks: a remembered one for each of a few stacks, and the new frames of the
 * one in progress. What grows is made whole and then pointed at, since a hook may
 * be left by longjmp at any place. None of this is on the way of a walk that lands.
 */
#ifndef SEEP_RUNTIME_REMEMBERED_H
#define SEEP_RUNTIME_REMEMBERED_H

#include "runtime/unwind/walk.h"

/*
 * What a thread remembers of its walks at first, and the new frames of one in progress: as much as
 * leaves it one page with the rest of its state. Deeper stacks get more.
 */
enum { RT_WALK_ROOM_BYTES = 3520 };

/*
 * Give @walk its first room, or make it as new. @room: RT_WALK_ROOM_BYTES of zeros that last as long
 * as @walk.
 */
void rt_walk_start(struct rt_walk *walk, void *room);

/* Forget all remembered walks: a hook was left, and one may be half written. */
RT_COLD void rt_walk_reset(struct rt_walk *walk);

/* In place of the present remembered walk one with room for @count frames; keeps the first @keep. */
RT_COLD bool rt_remembered_grow(struct rt_walk *walk, uint32_t count, uint32_t keep);

/* Room for more new frames; false when there is none. */
RT_COLD bool rt_fresh_grow(struct rt_walk *walk);

/* Nothing is remembered in it. */
void rt_remembered_drop(struct rt_remembered *it);

/* The present one begins anew. */
RT_COLD void rt_remembered_renew(struct rt_walk *walk, uint32_t generation);

/* Make that of the stack that @ra_at is on the present one, if there is one. */
RT_COLD void rt_remembered_choose(struct rt_walk *walk, uintptr_t ra_at);

/* A whole walk on a stack that is not remembered: take the place of the oldest. */
RT_COLD void rt_remembered_take_oldest(struct rt_walk *walk);

/* After the root of the present one has changed. */
void rt_remembered_find_floor(struct rt_walk *walk);

#endif
