/* SPDX-License-Identifier: MIT */
/* An allocator with variables of the names by which others tell the sizes of their classes. */
#include <stddef.h>
#include <string.h>

int nallocx = 7;
__thread int mi_good_size = 3;

static _Alignas(16) char pool[1 << 20];
static size_t used;

size_t malloc_usable_size(void *block)
{
	return block ? *(size_t *)((char *)block - 16) : 0;
}

void *malloc(size_t size)
{
	size_t bytes = (size + 15) & ~(size_t)15;
	char *block = pool + used + 16;

	if (size > sizeof(pool) || used + bytes + 16 > sizeof(pool))
		return NULL;
	used += bytes + 16;
	*(size_t *)(block - 16) = bytes;
	return block;
}

void free(void *block)
{
	(void)block;
}

void *calloc(size_t count, size_t size)
{
	void *block = malloc(count * size);

	return block ? memset(block, 0, count * size) : NULL;
}

void *realloc(void *old, size_t size)
{
	void *block = malloc(size);
	size_t before = malloc_usable_size(old);

	if (block && old)
		memcpy(block, old, before < size ? before : size);
	return block;
}
