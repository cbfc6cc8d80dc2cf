/* SPDX-License-Identifier: MIT */
/* Where the profiler's code lies, for programs whose handlers act only there. Needs _GNU_SOURCE. */
#ifndef PROFILER_CODE_H
#define PROFILER_CODE_H

#include <dlfcn.h>
#include <link.h>
#include <stdint.h>

#include "truth.h"

/* Both 0 without a profiler. */
static uintptr_t profiler, profiler_bytes;

static void find_profiler(void)
{
	struct dl_find_object ours, libc;

	EXPECT(_dl_find_object(dlsym(RTLD_DEFAULT, "malloc"), &ours) == 0);
	EXPECT(_dl_find_object(dlsym(RTLD_DEFAULT, "strlen"), &libc) == 0);
	if (ours.dlfo_map_start == libc.dlfo_map_start)
		return;
	profiler = (uintptr_t)ours.dlfo_map_start;
	profiler_bytes = (uintptr_t)ours.dlfo_map_end - profiler;
}

#endif
