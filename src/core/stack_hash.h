/* SPDX-License-Identifier: MIT */
/*
 * A call stack's hash without names: the same in each run of the same files, wherever they are loaded.
 * The library makes it to know a stack again that the tool has shown.
 */
#ifndef SEEP_CORE_STACK_HASH_H
#define SEEP_CORE_STACK_HASH_H

#include "core/fnv.h"

static inline uint64_t core_stack_hash_begin(uint8_t kind)
{
	return core_fnv_byte(CORE_FNV_BASIS, kind);
}

/* Of frames after folding, from the outermost inwards. @name: the last component of the module's path. */
static inline uint64_t core_stack_hash_frame(uint64_t hash, const char *name, size_t bytes,
					     uint64_t address)
{
	return core_fnv_number(core_fnv_bytes(hash, name, bytes), address);
}

#endif
