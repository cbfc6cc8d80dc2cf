/* SPDX-License-Identifier: MIT */
#include "base/xalloc.h"

#include "base/work.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* stdio may allocate, so the line goes out by write(2). */
static void *checked(void *block)
{
	static const char line[] = "seep: out of memory\n";

	if (block)
		return block;
	(void)!write(STDERR_FILENO, line, sizeof(line) - 1);
	abort();
}

void *seep_xmalloc(size_t bytes)
{
	seep_work_takes(bytes);
	return checked(malloc(bytes ? bytes : 1));
}

void *seep_xcalloc(size_t count, size_t item_bytes)
{
	if (count == 0 || item_bytes == 0)
		count = item_bytes = 1;
	seep_work_takes(count * item_bytes);
	return checked(calloc(count, item_bytes));
}

void *seep_xrealloc(void *old, size_t count, size_t item_bytes)
{
	if (count == 0 || item_bytes == 0)
		count = item_bytes = 1;
	seep_work_takes(count * item_bytes);
	return checked(reallocarray(old, count, item_bytes));
}

void *seep_xgrow(void *array, size_t *capacity, size_t needed, size_t item_bytes)
{
	size_t wanted = *capacity;

	if (array && needed <= wanted)
		return array;
	if (wanted < 8)
		wanted = 8;
	while (wanted < needed)
		wanted = wanted > SIZE_MAX / 3 ? needed : wanted + wanted / 2;
	array = seep_xrealloc(array, wanted, item_bytes);
	*capacity = wanted;
	return array;
}

/* Twice as much whenever it is full: of 8, 16, 32 and so on. */
void *seep_xappend(void *array, size_t count, size_t item_bytes)
{
	enum { FIRST = 8 };

	if (count == 0)
		return seep_xrealloc(array, FIRST, item_bytes);
	return count < FIRST || (count & (count - 1)) ? array
						      : seep_xrealloc(array, 2 * count, item_bytes);
}

void *seep_xextend(void *array, size_t old, size_t wanted, size_t item_bytes)
{
	/* Pages of a large one that nobody touches are not made real. */
	if (!array)
		return seep_xcalloc(wanted, item_bytes);
	array = seep_xrealloc(array, wanted, item_bytes);
	memset((char *)array + old * item_bytes, 0, (wanted - old) * item_bytes);
	return array;
}

char *seep_xstrdup(const char *text)
{
	return checked(strdup(text));
}

char *seep_xstrndup(const char *text, size_t max)
{
	return checked(strndup(text, max));
}

void *seep_xmemdup(const void *data, size_t bytes)
{
	void *copy = seep_xmalloc(bytes);

	if (bytes)
		memcpy(copy, data, bytes);
	return copy;
}

char *seep_xvasprintf(const char *fmt, va_list args)
{
	char *text;

	return checked(vasprintf(&text, fmt, args) < 0 ? NULL : text);
}

char *seep_xasprintf(const char *fmt, ...)
{
	va_list args;
	char *text;

	va_start(args, fmt);
	text = seep_xvasprintf(fmt, args);
	va_end(args);
	return text;
}
