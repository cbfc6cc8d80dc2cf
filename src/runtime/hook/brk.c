/* SPDX-License-Identifier: MIT */
/*
 * Memory that the program takes from the heap's end by itself, which is no allocator's: a leak scan
 * looks for pointers there. What libc takes does not come this way. Calls are forwarded as they
 * came.
 */
#include "runtime/hook/exported.h"
#include "runtime/sys/rt_facts.h"

RT_EXPORT int brk(void *end)
{
	uintptr_t before;
	int failed;

	rt_next_find();
	before = (uintptr_t)rt_next.sbrk(0);
	failed = rt_next.brk(end);
	if (!failed)
		rt_facts_brk(before, (uintptr_t)end);
	return failed;
}

RT_EXPORT void *sbrk(intptr_t change)
{
	void *before;

	rt_next_find();
	before = rt_next.sbrk(change);
	if (before != (void *)-1)
		rt_facts_brk((uintptr_t)before, (uintptr_t)before + (uintptr_t)change);
	return before;
}
