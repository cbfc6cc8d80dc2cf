/* SPDX-License-Identifier: MIT */
/*
 * free_storm THREADS FREES DEPTH [kill]: each thread makes so many frees with a wrong size, by up to
 * 2^DEPTH call stacks, prints how many there were in all, and with "kill" dies by SIGKILL then.
 * free_storm break: allocates five times by one call stack.
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { THREADS_MAX = 16, BLOCK_BYTES = 24 };

/* Only there with seep. */
__attribute__((weak)) void free_sized(void *block, size_t size);

static long frees;
static unsigned depth_max;

static void wrong(void)
{
	void *volatile block = malloc(BLOCK_BYTES);

	if (free_sized)
		free_sized(block, BLOCK_BYTES + 1);
}

static void odd(unsigned depth, unsigned long way);

/* Neither is a tail call, nor inlined: each way is a call stack of its own. */
__attribute__((noipa)) static void even(unsigned depth, unsigned long way)
{
	if (depth == 0)
		wrong();
	else if (way & 1)
		odd(depth - 1, way >> 1);
	else
		even(depth - 1, way >> 1);
	__asm__ volatile("");
}

__attribute__((noipa)) static void odd(unsigned depth, unsigned long way)
{
	if (depth == 0)
		wrong();
	else if (way & 1)
		odd(depth - 1, way >> 1);
	else
		even(depth - 1, way >> 1);
	__asm__ volatile("");
}

static void *storm(void *seed)
{
	unsigned long way = (unsigned long)seed * 7919 + 1;

	for (long i = 0; i < frees; i++) {
		way = way * 6364136223846793005u + 1442695040888963407u;
		even((unsigned)(way >> 40) % (depth_max + 1), way >> 20);
	}
	return NULL;
}

__attribute__((noipa)) static void *make(size_t bytes)
{
	return malloc(bytes);
}

int main(int argc, char **argv)
{
	pthread_t threads[THREADS_MAX];
	long count;

	if (argc == 2) {
		for (size_t i = 1; i <= 5; i++)
			free(make(i));
		return 0;
	}
	count = atol(argv[1]);
	frees = atol(argv[2]);
	depth_max = (unsigned)atol(argv[3]);
	for (long i = 0; i < count; i++)
		(void)pthread_create(&threads[i], NULL, storm, (void *)i);
	for (long i = 0; i < count; i++)
		(void)pthread_join(threads[i], NULL);
	printf("%ld\n", count * frees);
	(void)fflush(stdout);
	if (argc > 4)
		(void)raise(SIGKILL);
	return 0;
}
