/* SPDX-License-Identifier: MIT */
#include "core/reader.h"

enum { LEB_BYTES_MAX = 10 };

struct core_leb core_leb(const uint8_t *at, const uint8_t *end, uint8_t sign)
{
	const uint8_t *limit = end - at > LEB_BYTES_MAX ? at + LEB_BYTES_MAX : end;
	uint64_t value = 0;
	unsigned shift = 0;

	for (; at < limit; at++) {
		uint8_t byte = *at;

		value |= (uint64_t)(byte & 0x7f) << shift;
		shift += 7;
		if (byte & 0x80)
			continue;
		if ((byte & sign) && shift < 64)
			value |= ~UINT64_C(0) << shift;
		return (struct core_leb){ .value = value, .next = at + 1 };
	}
	return (struct core_leb){ .next = NULL };
}
