/* SPDX-License-Identifier: MIT */
/* One of two modules that unwind_adversary loads in turns; see reload_module.h. */
#define FRAME "24"
#define BLOCK_BYTES 64
#include "reload_module.h"
