/* SPDX-License-Identifier: MIT */
/* A realloc between the library and libc's that calls back first. */
#include <stddef.h>

void (*slow_realloc_pause)(void *block);
extern void *__libc_realloc(void *block, size_t bytes);

void *realloc(void *block, size_t bytes)
{
	if (block && slow_realloc_pause)
		slow_realloc_pause(block);
	return __libc_realloc(block, bytes);
}
