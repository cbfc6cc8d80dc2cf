/* SPDX-License-Identifier: MIT */
/*
 * verify=N: every Nth walk is compared, frame by frame, with libgcc's _Unwind_Backtrace. A copy of
 * libgcc's unwinder is linked into our library: nobody registers code with that one, so it takes
 * no lock and never allocates.
 */
#ifndef SEEP_RUNTIME_VERIFY_H
#define SEEP_RUNTIME_VERIFY_H

#include "runtime/rt.h"
#include "runtime/unwind/remembered.h"

/* A thread's part in it: remembered walks apart from its own, for those that were not kept. */
struct rt_proof {
	bool started; /* begins anew if not */
	struct rt_walk walk;
	_Alignas(64) char room[RT_WALK_ROOM_BYTES];
};

/*
 * Compare @walk, which this thread has just made from hook frame @frame, @hash NULL. Or the path
 * with *@hash, which was found without keeping the walk. *@proof is made when it is needed.
 */
RT_COLD void rt_verify_walk(struct rt_proof **proof, struct rt_walk *walk, const void *frame,
			    const uint64_t *hash);

static inline void rt_verify(struct rt_proof **proof, struct rt_walk *walk, const void *frame,
			     const uint64_t *hash)
{
	if (RT_UNLIKELY(rt_global.verify_every != 0))
		rt_verify_walk(proof, walk, frame, hash);
}

#endif
