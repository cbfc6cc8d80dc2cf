/* SPDX-License-Identifier: MIT */
/* LEB128: numbers of seven bits a byte, as DWARF and unwind data have them. */
#ifndef SEEP_CORE_LEB_H
#define SEEP_CORE_LEB_H

#include <stdint.h>

enum { CORE_LEB_BYTES_MAX = 10, CORE_LEB_UNSIGNED = 0, CORE_LEB_SIGNED = 0x40 };

/* Passed in registers: a reader whose address escapes slows a loop over numbers by half. */
struct core_leb {
	uint64_t value;
	uintptr_t next; /* the byte after it; 0: more than ten bytes, or cut off by the end */
};

/* The number at @at, of bytes before @end; @sign: is its last byte's second bit a sign? */
static inline struct core_leb core_leb(uintptr_t at, uintptr_t end, uint8_t sign)
{
	uintptr_t limit = end - at > CORE_LEB_BYTES_MAX ? at + CORE_LEB_BYTES_MAX : end;
	uint64_t value = 0;
	unsigned shift = 0;

	for (; at < limit; at++) {
		uint8_t byte = *(const uint8_t *)at;

		value |= (uint64_t)(byte & 0x7f) << shift;
		shift += 7;
		if (byte & 0x80)
			continue;
		if ((byte & sign) && shift < 64)
			value |= ~UINT64_C(0) << shift;
		return (struct core_leb){ .value = value, .next = at + 1 };
	}
	return (struct core_leb){ .next = 0 };
}

#endif
