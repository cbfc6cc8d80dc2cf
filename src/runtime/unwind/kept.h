/* SPDX-License-Identifier: MIT */
/*
 * A walk that is put aside, to become the last one of another thread's state: what a forked child
 * logs before it has a ledger.
 */
#ifndef SEEP_RUNTIME_KEPT_H
#define SEEP_RUNTIME_KEPT_H

#include "runtime/unwind/walk.h"

/* A return address, and what its frame's rule says of it. */
typedef uint64_t rt_kept_frame;

/*
 * Put the last walk's frames aside, all rt_walk_length() of them, the outermost first. False: one
 * is no address.
 */
RT_COLD bool rt_walk_keep(const struct rt_walk *walk, rt_kept_frame *ret_frames);

/*
 * Make the last walk of @walk one that was put aside. Outer frames that it has in common with the
 * one that was recalled before keep their nodes. False when there is no room. When the last one has
 * been recalled, rt_walk_reset(): no walk can land on these.
 */
RT_COLD bool rt_walk_recall(struct rt_walk *walk, const rt_kept_frame *frames, uint32_t count,
			    bool truncated);

#endif
