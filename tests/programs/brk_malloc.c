/* SPDX-License-Identifier: MIT */
/*
 * A program with a malloc of its own, on brk, which every library then uses as well: nothing of it
 * comes by a preloaded library. "stay" waits to be killed.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static unsigned long calls;

void *malloc(size_t bytes)
{
	size_t *block = sbrk((intptr_t)((bytes + 31) & ~(size_t)15));

	calls++;
	if (block == (void *)-1)
		return NULL;
	block[0] = bytes;
	return block + 2;
}

void free(void *block)
{
	(void)block;
}

void *calloc(size_t count, size_t bytes)
{
	return malloc(count * bytes);
}

void *realloc(void *old, size_t bytes)
{
	size_t before = old ? ((size_t *)old)[-2] : 0;
	void *block = malloc(bytes);

	if (block && old)
		memcpy(block, old, before < bytes ? before : bytes);
	return block;
}

int main(int argc, char **argv)
{
	(void)argv;
	for (int i = 0; i < 1000; i++)
		free(strdup("of libc, by our malloc"));
	printf("%d\n", calls >= 1000);
	(void)fflush(stdout);
	if (argc > 1)
		for (;;)
			(void)pause();
	return 0;
}
