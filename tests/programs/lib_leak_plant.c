/* SPDX-License-Identifier: MIT */
/*
 * Three blocks of 1001, 1002 and 1003 bytes that nothing points to, in whatever loads it. Nor does
 * the allocator: jemalloc leaves the address of what it gave in a table of the thread's, where the
 * next block of like size to be freed goes.
 */
#include <stdlib.h>

__attribute__((noinline)) static void plant(size_t bytes)
{
	void *volatile before = malloc(bytes);
	void *volatile block = malloc(bytes);

	block = NULL;
	(void)block;
	free(before);
}

static __attribute__((constructor)) void plant_all(void)
{
	for (size_t bytes = 1001; bytes <= 1003; bytes++)
		plant(bytes);
}
