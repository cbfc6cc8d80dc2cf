/* SPDX-License-Identifier: MIT */
/* Recording a realloc: as record.h, before and after the next allocator's. */
#ifndef SEEP_RUNTIME_RESIZE_H
#define SEEP_RUNTIME_RESIZE_H

#include "runtime/track/thread.h"

/* A realloc of a live block, begun before the next allocator is called, ended after. */
struct rt_resize {
	uint64_t value; /* of its cell before; 0: the block was not known */
	bool is_judged; /* what is wrong with it was noted */
	uint32_t flags; /* that the new block gets beside others; set after rt_resize_begin() */
	uint64_t size;
	uint64_t usable;
};

/*
 * Whoever stops @thread while it says so finds the block in the page map neither where it was
 * nor where it will be. In a child that was forked meanwhile @thread has no cache, or one of its own.
 */
RT_INLINE void rt_resize_say(struct rt_thread *thread, const void *block)
{
	if (RT_LIKELY(thread != NULL))
		rt_store_release(&thread->cache->resizing, (uintptr_t)block);
}

void rt_resize_begin(void *block, const void *frame, struct rt_resize *ret_resize);
/* @size: as requested. @after = NULL: it failed, or freed the block when @size is 0. */
void rt_resize_end(const struct rt_resize *resize, void *before, void *after, size_t size,
		   const void *frame);

#endif
