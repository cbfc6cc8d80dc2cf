/* SPDX-License-Identifier: MIT */
/*
 * scratch [THREADS [ROUNDS]]
 *
 * Small blocks of several threads, first all from one thread, then replaced by each its own and
 * written many times: slow where an allocator, or what stands before it, puts what two threads
 * write into one cache line.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "stopwatch.h"

enum { THREADS_MAX = 256, BLOCK_BYTES = 8, WRITES = 100 };

static long rounds;

static void *work(void *first)
{
	volatile char *block = first;

	for (long i = 0; i < rounds; i++) {
		for (int write = 0; write < WRITES; write++)
			block[write % BLOCK_BYTES]++;
		free((void *)block);
		block = malloc(BLOCK_BYTES);
		if (!block)
			abort();
	}
	free((void *)block);
	return NULL;
}

int main(int argc, char **argv)
{
	static void *first[THREADS_MAX];
	static pthread_t thread[THREADS_MAX];
	int threads = argc > 1 ? atoi(argv[1]) : 2;
	struct stopwatch watch;

	rounds = argc > 2 ? strtol(argv[2], NULL, 10) : 1000000;
	if (threads < 1 || threads > THREADS_MAX)
		return 2;
	for (int i = 0; i < threads; i++)
		first[i] = malloc(BLOCK_BYTES);
	stopwatch_start(&watch);
	for (int i = 0; i < threads; i++)
		if (pthread_create(&thread[i], NULL, work, first[i]))
			return 3;
	for (int i = 0; i < threads; i++)
		pthread_join(thread[i], NULL);
	stopwatch_print(&watch, (double)threads * (double)rounds);
	return 0;
}
