/* SPDX-License-Identifier: MIT */
/* Registers a function for the end as early as a library can, which allocates 50 times. */
#include <stdlib.h>

int on_exit(void (*function)(int status, void *argument), void *argument);

static void allocate(int status, void *unused)
{
	(void)status;
	(void)unused;
	for (int i = 0; i < 50; i++) {
		void *block = malloc(100);

		__asm__ volatile("" ::"r"(block) : "memory");
		free(block);
	}
}

static __attribute__((constructor)) void construct(void)
{
	(void)on_exit(allocate, NULL);
}
