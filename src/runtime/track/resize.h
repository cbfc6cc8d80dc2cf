/* SPDX-License-Identifier: MIT */
/* Recording a realloc: as record.h, before and after the next allocator's. */
#ifndef SEEP_RUNTIME_RESIZE_H
#define SEEP_RUNTIME_RESIZE_H

#include "runtime/rt.h"

/* A realloc of a live block, begun before the next allocator is called, ended after. */
struct rt_resize {
	uint64_t value; /* of its cell before; 0: the block was not known */
	bool is_judged; /* what is wrong with it was noted */
	uint64_t size;
	uint64_t usable;
	uint32_t flags; /* that the new block gets beside others; set after rt_resize_begin() */
};

void rt_resize_begin(void *block, const void *frame, struct rt_resize *ret_resize);
/* @size: as requested. @after = NULL: it failed, or freed the block when @size is 0. */
void rt_resize_end(const struct rt_resize *resize, void *before, void *after, size_t size,
		   const void *frame);

#endif
