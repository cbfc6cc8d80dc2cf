/* SPDX-License-Identifier: MIT */
// build: -std=c++17 -Wl,--hash-style=sysv
/* The same with the old symbol hash table only: the operators must be found in that too. */
#include "hostile_new_body.h"
