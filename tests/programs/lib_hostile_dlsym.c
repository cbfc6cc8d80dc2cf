/* SPDX-License-Identifier: MIT */
// build: -ldl
/*
 * A dlsym() that allocates on its way, as some do: 200 bytes, then more of them, every fourth time
 * given back. The profiler's own search for the next allocator goes through it too. What came while
 * that was going on stands in no other figure.
 */
#include <dlfcn.h>
#include <stdlib.h>

enum { FIRST = 200, SECOND = 300 };

static void *volatile kept;

void *dlsym(void *restrict handle, const char *restrict name)
{
	static void *(*next)(void *, const char *);
	static unsigned calls;
	void *block = malloc(FIRST);

	if (!next)
		*(void **)&next = dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.2.5");
	kept = realloc(block, SECOND);
	if (calls++ % 4 == 0)
		free(kept);
	return next(handle, name);
}
