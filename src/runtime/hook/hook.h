/* SPDX-License-Identifier: MIT */
/*
 * What every hook does around the next allocator: record after an allocation, forget before a free.
 * The common case of glibc's blocks is inlined into the hook. errno is never touched.
 */
#ifndef SEEP_RUNTIME_HOOK_H
#define SEEP_RUNTIME_HOOK_H

#include "runtime/hook/exported.h"
#include "runtime/life/start.h"
#include "runtime/track/quick.h"
#include "runtime/track/record.h"

/* Of the hook itself: its caller's registers, where a walk begins. */
#define FRAME __builtin_frame_address(0)

/*
 * All that is not the common case, and what comes before there is a ledger. The first gives @block;
 * the last frees it by the next free(). Hooks end with a jump to these (tail calls): @frame is theirs
 * all the same, since what is jumped to saves the same frame pointer in the same place.
 */
RT_HOT void *rt_record_slow(void *block, size_t size, struct rt_alloc alloc, const void *frame);
/* The same whatever the tier, which is asked for later. */
RT_APART void *rt_record_whole(void *block, size_t size, struct rt_alloc alloc, const void *frame);
RT_HOT void rt_forget_slow(void *block, struct rt_free how, const void *frame);
RT_HOT void rt_free_slow(void *block, struct rt_free how, const void *frame);

/* A block came from another definition of the operator; @before: see rt_record_is_new(). */
RT_COLD void rt_record_other(void *block, size_t size, struct rt_alloc alloc, const void *frame,
			     uint64_t before);

/* The next realloc of @block, not NULL, to @request bytes, of which @size were asked for. */
void *rt_resize(void *block, size_t size, size_t request, const void *frame);

/* @block of @size requested bytes was allocated, or is NULL; gives it. */
RT_INLINE void *rt_record(void *block, size_t size, struct rt_alloc alloc, const void *frame)
{
	if (RT_LIKELY(rt_quick_record(RT_QUICK_GLIBC, block, size, alloc, frame)))
		return block;
	return rt_record_slow(block, size, alloc, frame);
}

/* Free @block, not NULL, by the next free(). */
RT_INLINE void rt_free(void *block, struct rt_free how, const void *frame)
{
	if (RT_LIKELY(rt_quick_forget(RT_QUICK_GLIBC, false, block, how, frame)))
		rt_next.free(block);
	else
		rt_free_slow(block, how, frame);
}

#endif
