/* SPDX-License-Identifier: MIT */
#ifndef SEEP_BASE_MEMORY_ROOM_H
#define SEEP_BASE_MEMORY_ROOM_H

#include <stdint.h>

/*
 * Bytes of memory that this process may still take before the machine swaps, or before the
 * control groups that it is in kill somebody. UINT64_MAX: nothing tells.
 */
uint64_t seep_memory_room(void);

#endif
