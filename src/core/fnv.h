/* SPDX-License-Identifier: MIT */
/*
 * FNV-1a, 64 bits (Fowler, Noll, Vo): a hash that is the same in every run and on every machine.
 * For keys that a run makes up for itself, core_hash_step() is quicker. A hash begins with
 * CORE_FNV_BASIS and goes on from what was hashed before.
 */
#ifndef SEEP_CORE_FNV_H
#define SEEP_CORE_FNV_H

#include <stddef.h>
#include <stdint.h>

#define CORE_FNV_BASIS UINT64_C(0xcbf29ce484222325)

static inline uint64_t core_fnv_byte(uint64_t hash, uint8_t byte)
{
	return (hash ^ byte) * UINT64_C(0x100000001b3);
}

static inline uint64_t core_fnv_bytes(uint64_t hash, const void *bytes, size_t count)
{
	const uint8_t *at = bytes;

	while (count--)
		hash = core_fnv_byte(hash, *at++);
	return hash;
}

/* As eight bytes, the lowest first. */
static inline uint64_t core_fnv_number(uint64_t hash, uint64_t number)
{
	for (int shift = 0; shift < 64; shift += 8)
		hash = core_fnv_byte(hash, (uint8_t)(number >> shift));
	return hash;
}

#endif
