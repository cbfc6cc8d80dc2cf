/* SPDX-License-Identifier: MIT */
/* Three blocks of 1001, 1002 and 1003 bytes that nothing points to, by calls in three lines, in whatever loads it. */
#include <stdlib.h>

__attribute__((noinline)) static void plant(size_t bytes)
{
	void *volatile block = malloc(bytes);

	block = NULL;
	(void)block;
}

static __attribute__((constructor)) void plant_all(void)
{
	plant(1001);
	plant(1002);
	plant(1003);
}
