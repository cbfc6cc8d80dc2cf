/* SPDX-License-Identifier: MIT */
/*
 * Stands in front of dlsym(), as overlays and tracers of graphics do; it hides the caller from
 * the next one.
 */
#define _GNU_SOURCE
#include <dlfcn.h>

void *dlsym(void *handle, const char *name)
{
	static void *(*next)(void *, const char *);

	if (!next)
		*(void **)&next = dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.2.5");
	return next(handle, name);
}
