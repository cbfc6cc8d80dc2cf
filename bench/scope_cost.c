/* SPDX-License-Identifier: MIT */
/*
 * What a scope costs: scope_cost [THREADS] [TIMES]. Each thread enters and leaves one so often, and so often
 * allocates and frees, first in no scope, then in one; nanoseconds for each, of the slowest thread.
 */
#include "seep/seep.h"

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { THREADS_MAX = 256, BLOCKS = 64 };

static long times = 10000000;
static double results[THREADS_MAX][3];

static double now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static __attribute__((noinline)) void allocate(void *volatile *blocks)
{
	for (long i = 0; i < times; i += BLOCKS) {
		for (int b = 0; b < BLOCKS; b++)
			blocks[b] = malloc(32);
		for (int b = 0; b < BLOCKS; b++)
			free(blocks[b]);
	}
}

static void *work(void *of)
{
	void *volatile blocks[BLOCKS];
	double *result = of, begin = now_ns();

	for (long i = 0; i < times; i++) {
		SEEP_SCOPE("entered");
		__asm__ volatile("");
	}
	result[0] = (now_ns() - begin) / (double)times;
	begin = now_ns();
	allocate(blocks);
	result[1] = (now_ns() - begin) / (double)times;
	SEEP_SCOPE("open");
	begin = now_ns();
	allocate(blocks);
	result[2] = (now_ns() - begin) / (double)times;
	return NULL;
}

int main(int argc, char **argv)
{
	int threads = argc > 1 ? atoi(argv[1]) : 1;
	pthread_t ids[THREADS_MAX];
	double most[3] = { 0 };

	if (threads < 1 || threads > THREADS_MAX)
		return 2;
	times = argc > 2 ? atol(argv[2]) : times;
	for (int i = 0; i < threads; i++)
		pthread_create(&ids[i], NULL, work, results[i]);
	for (int i = 0; i < threads; i++) {
		pthread_join(ids[i], NULL);
		for (int k = 0; k < 3; k++)
			most[k] = results[i][k] > most[k] ? results[i][k] : most[k];
	}
	printf("enter and leave %.1f ns, malloc and free %.1f ns, in a scope %.1f ns\n", most[0],
	       most[1], most[2]);
	return 0;
}
