/* SPDX-License-Identifier: MIT */
/* A program with an allocator of its own, as one that is linked in statically: it never frees. */
#include <stddef.h>
#include <string.h>

static char heap[1 << 20];
static size_t used;

void *malloc(size_t bytes)
{
	char *block = heap + used;

	used += (bytes + 15) / 16 * 16;
	return used <= sizeof(heap) ? block : NULL;
}

void *calloc(size_t count, size_t bytes)
{
	return malloc(count * bytes);
}

void *realloc(void *old, size_t bytes)
{
	void *block = malloc(bytes);

	return old && block ? memcpy(block, old, bytes) : block;
}

void free(void *block)
{
	(void)block;
}

int main(void)
{
	char *volatile text = malloc(6);

	return strcmp(strcpy(text, "hello"), "hello");
}
