/* SPDX-License-Identifier: MIT */
/*
 * Allocation in the tool. None of these return NULL: when memory runs out the tool prints one line
 * and aborts. Sizes that come from a file are bounded by the caller before they get here.
 * Everything is released with free().
 */
#ifndef SEEP_BASE_XALLOC_H
#define SEEP_BASE_XALLOC_H

#include <stdarg.h>
#include <stddef.h>

#include "base/error.h"
#include "base/release.h"

#define SEEP_RETURNS_MEMORY __attribute__((malloc, returns_nonnull, warn_unused_result))

/* @bytes may be 0; the result is a pointer that free() takes, all the same. */
void *seep_xmalloc(size_t bytes) SEEP_RETURNS_MEMORY;

/* Zeroed. The product is checked: an overflow counts as out of memory. */
void *seep_xcalloc(size_t count, size_t item_bytes) SEEP_RETURNS_MEMORY;

/* As reallocarray(3); @old may be NULL. */
void *seep_xrealloc(void *old, size_t count, size_t item_bytes)
	__attribute__((returns_nonnull, warn_unused_result));

/**
 * seep_xgrow - make room for at least @needed items in an array
 * @array:      NULL for an array that is still empty
 * @capacity:   in items; written when it changes
 * @needed:     in items
 * @item_bytes: size of one
 *
 * Grows by half, so that appending one at a time is linear. New items are not initialised.
 *
 * Returns: the array, perhaps moved.
 */
void *seep_xgrow(void *array, size_t *capacity, size_t needed, size_t item_bytes)
	__attribute__((returns_nonnull, warn_unused_result));

/*
 * Where the next item of an array goes, which is counted in: "*SEEP_APPEND(items, count) = item;".
 * Such an array begins with NULL and 0 and grows in no other way, since how much room it has
 * follows from its count. That may be made smaller: the items behind it are lost with the next
 * append. The arguments are named several times, and the item may not depend on them.
 */
#define SEEP_APPEND(array, count) \
	((array) = seep_xappend((array), (size_t)(count), sizeof(*(array))), &(array)[(count)++])

/* Room behind the @count items of such an array for one more at least. */
void *seep_xappend(void *array, size_t count, size_t item_bytes)
	__attribute__((returns_nonnull, warn_unused_result));

/* From @old items to @wanted, which are no fewer; the new ones are zeroed. @array may be NULL. */
void *seep_xextend(void *array, size_t old, size_t wanted, size_t item_bytes)
	__attribute__((returns_nonnull, warn_unused_result));

char *seep_xstrdup(const char *text) SEEP_RETURNS_MEMORY;

/* At most @max bytes of @text, and a terminator. */
char *seep_xstrndup(const char *text, size_t max) SEEP_RETURNS_MEMORY;

void *seep_xmemdup(const void *data, size_t bytes) SEEP_RETURNS_MEMORY;

char *seep_xasprintf(const char *fmt, ...) SEEP_PRINTF(1, 2) SEEP_RETURNS_MEMORY;
char *seep_xvasprintf(const char *fmt, va_list args) SEEP_PRINTF(1, 0) SEEP_RETURNS_MEMORY;

#endif
