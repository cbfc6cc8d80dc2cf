/* SPDX-License-Identifier: MIT */
/*
 * crowd THREADS ROUNDS [LIVES]
 *
 * THREADS threads alive at once, each replacing 64 blocks ROUNDS times, one after the other: while
 * they wait for each other's arenas, glibc's heap grows by another amount in each run. With LIVES,
 * that many threads follow each other in every place, so that what is measured is their start and
 * end.
 */
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "random.h"
#include "resident.h"
#include "stopwatch.h"

enum { THREADS_MAX = 4096, BLOCKS = 64 };

static long rounds;
static pthread_barrier_t everybody, measured;
static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;
static int is_crowd;

__attribute__((noinline)) static void replace(void **block, uint64_t *state)
{
	for (int i = 0; i < BLOCKS; i++) {
		free(block[i]);
		block[i] = malloc(random_size(state));
		if (!block[i])
			abort();
	}
}

static void *live_once(void *number)
{
	uint64_t state = random_seed((uint64_t)(uintptr_t)number);
	void *block[BLOCKS] = { 0 };

	if (is_crowd) {
		pthread_barrier_wait(&everybody);
		pthread_mutex_lock(&turn);
	}
	for (long i = 0; i < rounds; i++)
		replace(block, &state);
	if (is_crowd) {
		pthread_mutex_unlock(&turn);
		pthread_barrier_wait(&everybody);
		/* All alive, with all they have, while the process is looked at. */
		pthread_barrier_wait(&measured);
	}
	for (int i = 0; i < BLOCKS; i++)
		free(block[i]);
	return NULL;
}

static void start(pthread_t *thread, long number)
{
	pthread_attr_t attributes;

	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, PTHREAD_STACK_MIN + (128u << 10));
	if (pthread_create(thread, &attributes, live_once, (void *)(uintptr_t)number))
		abort();
	pthread_attr_destroy(&attributes);
}

static void all_at_once(pthread_t *thread, long threads)
{
	struct stopwatch watch;

	pthread_barrier_init(&everybody, NULL, (unsigned)threads + 1);
	pthread_barrier_init(&measured, NULL, (unsigned)threads + 1);
	for (long i = 0; i < threads; i++)
		start(&thread[i], i);
	stopwatch_start(&watch);
	pthread_barrier_wait(&everybody);
	pthread_barrier_wait(&everybody);
	stopwatch_print(&watch, (double)threads * (double)rounds * BLOCKS);
	printf("rss_bytes=%llu threads=%ld\n", resident_bytes(), threads);
	pthread_barrier_wait(&measured);
	for (long i = 0; i < threads; i++)
		pthread_join(thread[i], NULL);
}

static void one_after_another(pthread_t *thread, long threads, long lives)
{
	struct stopwatch watch;

	stopwatch_start(&watch);
	for (long life = 0; life < lives; life++)
		for (long i = 0; i < threads; i++) {
			if (life > 0)
				pthread_join(thread[i], NULL);
			start(&thread[i], life * threads + i);
		}
	for (long i = 0; i < threads; i++)
		pthread_join(thread[i], NULL);
	stopwatch_print(&watch, (double)threads * (double)lives);
}

int main(int argc, char **argv)
{
	static pthread_t thread[THREADS_MAX];
	long threads = argc > 1 ? strtol(argv[1], NULL, 10) : 1000;
	long lives = argc > 3 ? strtol(argv[3], NULL, 10) : 0;

	rounds = argc > 2 ? strtol(argv[2], NULL, 10) : 10;
	if (threads < 1 || threads > THREADS_MAX)
		return 2;
	is_crowd = lives == 0;
	if (is_crowd)
		all_at_once(thread, threads);
	else
		one_after_another(thread, threads, lives);
	return 0;
}
