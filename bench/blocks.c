/* SPDX-License-Identifier: MIT */
/*
 * blocks [COUNT]
 *
 * Keeps COUNT blocks of 24 bytes alive and prints the size of the heap and of the process. What a
 * profiler takes for itself is the difference of rss_bytes to a run without it.
 */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "resident.h"
#include "stopwatch.h"

static void **blocks;

__attribute__((noipa)) static void *one(void)
{
	return malloc(24);
}

__attribute__((noipa)) static void *other(void)
{
	void *block = malloc(24);

	__asm__ volatile("" ::: "memory");
	return block;
}

static void fill(long count)
{
	for (long i = 0; i < count; i++) {
		blocks[i] = i % 3 ? one() : other();
		if (!blocks[i])
			abort();
		*(long *)blocks[i] = i;
	}
}

int main(int argc, char **argv)
{
	long count = argc > 1 ? strtol(argv[1], NULL, 10) : 10000000;
	struct stopwatch watch;
	struct mallinfo2 info;

	blocks = mmap(NULL, (size_t)count * sizeof(*blocks), PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (blocks == MAP_FAILED)
		return 3;
	stopwatch_start(&watch);
	fill(count);
	stopwatch_print(&watch, (double)count);
	info = mallinfo2();
	printf("heap_bytes=%zu rss_bytes=%llu\n", info.arena + info.hblkhd, resident_bytes());
	return 0;
}
