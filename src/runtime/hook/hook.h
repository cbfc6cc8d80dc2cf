/* SPDX-License-Identifier: MIT */
/*
 * What every hook does around the next allocator: record after an allocation, forget before a free.
 * The common case of glibc's blocks is inlined into the hook. errno is never touched.
 */
#ifndef SEEP_RUNTIME_HOOK_H
#define SEEP_RUNTIME_HOOK_H

#include "runtime/life/start.h"
#include "runtime/next/next.h"
#include "runtime/track/quick.h"
#include "runtime/track/record.h"

/* Of the hook itself: its caller's registers, where a walk begins. */
#define FRAME __builtin_frame_address(0)

/* @block of @size requested bytes was allocated; NULL is ignored. */
RT_INLINE void rt_record(void *block, size_t size, uint32_t sort, const void *frame)
{
	struct ledger_control *control = rt_mine.control;

	if (RT_LIKELY(rt_quick_record(RT_QUICK_GLIBC, control, block, size, sort, frame)))
		return;
	if (RT_UNLIKELY(!control))
		control = rt_control_cold();
	if (RT_LIKELY(control != NULL))
		rt_record_any(control, block, size, sort, frame);
}

/* @block is about to be freed. */
RT_INLINE void rt_forget(void *block, const void *frame)
{
	struct ledger_control *control = rt_mine.control;

	if (RT_LIKELY(rt_quick_forget(RT_QUICK_GLIBC, control, block, frame)))
		return;
	if (RT_UNLIKELY(!control))
		control = rt_control_cold();
	if (RT_LIKELY(control != NULL))
		rt_forget_any(control, block, frame);
}

#endif
