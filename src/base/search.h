/* SPDX-License-Identifier: MIT */
/* Items that are found by the uint64_t (or pointer) with which each begins. */
#ifndef SEEP_BASE_SEARCH_H
#define SEEP_BASE_SEARCH_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* As qsort() asks: which of two numbers comes first, the smaller one. */
static inline int seep_search_order(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

static inline int seep_search_compare(const void *left, const void *right)
{
	uint64_t a, b;

	memcpy(&a, left, sizeof(a));
	memcpy(&b, right, sizeof(b));
	return seep_search_order(a, b);
}

/* Sort @count items of @item_bytes each, for the functions below. */
static inline void seep_search_sort(void *items, size_t count, size_t item_bytes)
{
	if (count)
		qsort(items, count, item_bytes, seep_search_compare);
}

/* The item with the number @key; of several any. NULL: there is none. */
static inline void *seep_search_item(const void *items, size_t count, size_t item_bytes,
				     uint64_t key)
{
	return count ? bsearch(&key, items, count, item_bytes, seep_search_compare) : NULL;
}

/* How many items have a number of at most @key, which bsearch() does not tell. */
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
