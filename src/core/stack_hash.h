/* SPDX-License-Identifier: MIT */
/*
 * A call stack's hash without names: the same in each run of the same files, wherever they are loaded.
 * The library makes it to know a stack again that the tool has shown.
 */
#ifndef SEEP_CORE_STACK_HASH_H
#define SEEP_CORE_STACK_HASH_H

#include "core/fnv.h"

#include <stdbool.h>

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

enum { CORE_STACK_HASH_DIGITS = 16 };

/* "HASH", in hexadecimal digits, or "HASH:N", the Nth allocation there. False: @text is neither. */
static inline bool core_stack_hash_read(const char *text, uint64_t *ret_hash, uint64_t *ret_nth)
{
	uint64_t hash = 0, nth = 0;

	for (unsigned i = 0; i < CORE_STACK_HASH_DIGITS; i++, text++) {
		const bool is_letter = *text >= 'a' && *text <= 'f';

		if (!is_letter && !(*text >= '0' && *text <= '9'))
			return false;
		hash = hash << 4 | (uint64_t)(is_letter ? *text - 'a' + 10 : *text - '0');
	}
	if (!*text)
		text = ":1";
	else if (*text != ':')
		return false;
	for (text++; *text >= '0' && *text <= '9' && nth < UINT64_MAX / 100; text++)
		nth = nth * 10 + (uint64_t)(*text - '0');
	*ret_hash = hash;
	*ret_nth = nth;
	return !*text && hash && nth;
}

#endif
