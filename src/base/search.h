/* SPDX-License-Identifier: MIT */
/* A binary search for where a number belongs, which bsearch() does not tell. */
#ifndef SEEP_BASE_SEARCH_H
#define SEEP_BASE_SEARCH_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/*
 * How many of @count items of @item_bytes each have a number of at most @key. Items are ascending
 * by the uint64_t (or pointer) with which each begins.
 */
static inline size_t seep_search_upto(const void *items, size_t count, size_t item_bytes,
				      uint64_t key)
{
	size_t low = 0, high = count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		uint64_t number;

		memcpy(&number, (const char *)items + middle * item_bytes, sizeof(number));
		if (number <= key)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

#endif
