/* SPDX-License-Identifier: MIT */
/* One of two modules that unwind_adversary loads in turns; see reload_module.h. */
#define FRAME "88"
#define BLOCK_BYTES 128
#include "reload_module.h"
