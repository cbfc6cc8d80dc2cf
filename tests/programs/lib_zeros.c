/* SPDX-License-Identifier: MIT */
/* An allocator that gives no memory twice: what its malloc gives is zero, and its calloc is that. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { AREA_BYTES = 64 << 20, HEADER = 16 };

static _Alignas(16) char area[AREA_BYTES];
static size_t used;

void *malloc(size_t size)
{
	const size_t need = HEADER + ((size + 15) & ~(size_t)15);
	const size_t at = __atomic_fetch_add(&used, need, __ATOMIC_RELAXED);

	if (at + need > AREA_BYTES)
		return NULL;
	memcpy(area + at, &size, sizeof(size));
	return area + at + HEADER;
}

size_t malloc_usable_size(void *block)
{
	size_t size = 0;

	if (block)
		memcpy(&size, (char *)block - HEADER, sizeof(size));
	return size;
}

void *calloc(size_t count, size_t size)
{
	return malloc(count * size);
}

void *realloc(void *block, size_t size)
{
	const size_t before = malloc_usable_size(block);
	void *after = malloc(size);

	if (after && block)
		memcpy(after, block, before < size ? before : size);
	return after;
}

void free(void *block)
{
	(void)block;
}
