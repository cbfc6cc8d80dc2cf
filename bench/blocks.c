/* SPDX-License-Identifier: MIT */
/*
 * blocks [COUNT [KIND [BYTES]]]
 *
 * Keeps COUNT blocks alive and prints the size of the heap and of the process. What a profiler
 * takes for itself is the difference of rss_bytes to a run without it.
 *
 * full: of 24 bytes, one beside the other. sparse: of 24 bytes, and 99 more for each of them that
 * were freed. between: of 24 bytes, and between them others of BYTES that nobody touches. arenas:
 * of 24 bytes, sixteen in each of COUNT heaps, each with a thread of its own that lives. large: of
 * BYTES, of which the first word is touched.
 */
#include <limits.h>
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "resident.h"
#include "stopwatch.h"

enum { SPARSE = 100, PER_ARENA = 16 };

static void **blocks;
static pthread_barrier_t all_there, measured;

__attribute__((noipa)) static void *one(size_t bytes)
{
	return malloc(bytes);
}

__attribute__((noipa)) static void *other(size_t bytes)
{
	void *block = malloc(bytes);

	__asm__ volatile("" ::: "memory");
	return block;
}

static void *touched(long i, size_t bytes)
{
	void *block = i % 3 ? one(bytes) : other(bytes);

	if (!block)
		abort();
	*(volatile long *)block = i;
	return block;
}

static void full(long count, size_t bytes)
{
	for (long i = 0; i < count; i++)
		blocks[i] = touched(i, bytes);
}

static void sparse(long count, size_t bytes)
{
	void **freed = mmap(NULL, (size_t)count * SPARSE * sizeof(*freed), PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (freed == MAP_FAILED)
		abort();
	for (long i = 0; i < count * SPARSE; i++)
		freed[i] = touched(i, bytes);
	for (long i = 0; i < count * SPARSE; i++) {
		if (i % SPARSE)
			free(freed[i]);
		else
			blocks[i / SPARSE] = freed[i];
	}
	(void)munmap(freed, (size_t)count * SPARSE * sizeof(*freed));
}

static void between(long count, size_t bytes)
{
	for (long i = 0; i < count; i++) {
		blocks[i] = touched(i, 24);
		/* Stays as long as the process. */
		if (!one(bytes))
			abort();
	}
}

static void *live(void *unused)
{
	(void)unused;
	for (int i = 0; i < PER_ARENA; i++)
		(void)touched(i, 24);
	pthread_barrier_wait(&all_there);
	pthread_barrier_wait(&measured);
	return NULL;
}

static void arenas(long count, size_t bytes)
{
	pthread_attr_t attributes;
	pthread_t thread;

	(void)bytes;
	(void)mallopt(M_ARENA_MAX, (int)count + 1);
	pthread_barrier_init(&all_there, NULL, (unsigned)count + 1);
	pthread_barrier_init(&measured, NULL, (unsigned)count + 1);
	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, PTHREAD_STACK_MIN + (128u << 10));
	for (long i = 0; i < count; i++)
		if (pthread_create(&thread, &attributes, live, NULL))
			abort();
	pthread_attr_destroy(&attributes);
	pthread_barrier_wait(&all_there);
}

static const struct kind {
	const char *name;
	void (*fill)(long count, size_t bytes);
	size_t bytes;
} kinds[] = {
	{ "full", full, 24 },	  { "sparse", sparse, 24 },   { "between", between, 100 << 10 },
	{ "arenas", arenas, 24 }, { "large", full, 5 << 10 },
};

static const struct kind *kind_of(const char *name)
{
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (strcmp(kinds[i].name, name) == 0)
			return &kinds[i];
	exit(2);
}

int main(int argc, char **argv)
{
	long count = argc > 1 ? strtol(argv[1], NULL, 10) : 10000000;
	const struct kind *kind = kind_of(argc > 2 ? argv[2] : "full");
	size_t bytes = argc > 3 ? strtoul(argv[3], NULL, 10) : kind->bytes;
	struct stopwatch watch;
	struct mallinfo2 info;

	blocks = mmap(NULL, (size_t)count * sizeof(*blocks), PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (blocks == MAP_FAILED)
		return 3;
	stopwatch_start(&watch);
	kind->fill(count, bytes);
	stopwatch_print(&watch, (double)count);
	info = mallinfo2();
	printf("heap_bytes=%zu rss_bytes=%llu\n", info.arena + info.hblkhd, resident_bytes());
	if (kind->fill == arenas)
		pthread_barrier_wait(&measured);
	return 0;
}
