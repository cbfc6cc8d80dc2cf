/* SPDX-License-Identifier: MIT */
/* Of looks_up: defines what the program defines too, and looks for the next one. */
#define _GNU_SOURCE
#include <dlfcn.h>

void in_both(void);
void *next_from_library(const char *name);

void in_both(void)
{
}

void *next_from_library(const char *name)
{
	return dlsym(RTLD_NEXT, name);
}
