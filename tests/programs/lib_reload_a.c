/* SPDX-License-Identifier: MIT */
/* One of two modules that unwind_adversary loads in turns; see reload_module.h. */
#include "reload_module.h"

#include <stdlib.h>

RELOAD_MODULE_CALL("24");

static void *volatile kept;

/* The loader's own frames are part of these two walks. */
__attribute__((constructor)) static void loaded(void)
{
	kept = malloc(64);
}

__attribute__((destructor)) static void unloaded(void)
{
	free(kept);
}
