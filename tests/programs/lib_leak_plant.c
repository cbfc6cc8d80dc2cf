/* SPDX-License-Identifier: MIT */
/* Three blocks of 1001, 1002 and 1003 bytes that nothing points to, in whatever loads it. */
#include <stdlib.h>

__attribute__((noinline)) static void plant(size_t bytes)
{
	void *volatile block = malloc(bytes);

	block = NULL;
	(void)block;
}

static __attribute__((constructor)) void plant_all(void)
{
	for (size_t bytes = 1001; bytes <= 1003; bytes++)
		plant(bytes);
}
