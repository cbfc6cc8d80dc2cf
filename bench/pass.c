/* SPDX-License-Identifier: MIT */
/*
 * pass [THREADS [BATCHES [SIZE]]]
 *
 * Half of the threads allocate batches of blocks and put them into one queue; the other half take
 * them out and free them, whoever comes first (after Lever and Boreham, "malloc() performance in a
 * multithreaded Linux environment", 2000). A batch is a block itself.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "stopwatch.h"

enum { THREADS_MAX = 256, BLOCKS = 4096, WAITING_MAX = 16 };

struct batch {
	struct batch *next;
	void *block[BLOCKS];
};

static long batches, size; /* batches by each thread that allocates */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
/* Under the lock. */
static struct batch *first;
static int waiting, producers;

static void put(struct batch *batch)
{
	pthread_mutex_lock(&lock);
	while (waiting == WAITING_MAX)
		pthread_cond_wait(&changed, &lock);
	batch->next = first;
	first = batch;
	waiting++;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
}

/* NULL when there will be no more. */
static struct batch *take(void)
{
	struct batch *batch;

	pthread_mutex_lock(&lock);
	while (!first && producers > 0)
		pthread_cond_wait(&changed, &lock);
	batch = first;
	if (batch) {
		first = batch->next;
		waiting--;
		pthread_cond_broadcast(&changed);
	}
	pthread_mutex_unlock(&lock);
	return batch;
}

static void *produce(void *unused)
{
	for (long n = 0; n < batches; n++) {
		struct batch *batch = malloc(sizeof(*batch));

		for (int i = 0; batch && i < BLOCKS; i++)
			if (!(batch->block[i] = malloc((size_t)size)))
				abort();
		if (!batch)
			abort();
		put(batch);
	}
	pthread_mutex_lock(&lock);
	producers--;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
	return unused;
}

static void *consume(void *unused)
{
	struct batch *batch;

	while ((batch = take())) {
		for (int i = 0; i < BLOCKS; i++)
			free(batch->block[i]);
		free(batch);
	}
	return unused;
}

int main(int argc, char **argv)
{
	static pthread_t thread[THREADS_MAX];
	int threads = argc > 1 ? atoi(argv[1]) : 8;
	struct stopwatch watch;

	batches = argc > 2 ? strtol(argv[2], NULL, 10) : 500;
	size = argc > 3 ? strtol(argv[3], NULL, 10) : 64;
	if (threads < 2 || threads > THREADS_MAX || threads % 2 || batches < 0 || size < 1)
		return 2;
	producers = threads / 2;
	stopwatch_start(&watch);
	for (int i = 0; i < threads; i++)
		if (pthread_create(&thread[i], NULL, i % 2 ? consume : produce, NULL))
			return 3;
	for (int i = 0; i < threads; i++)
		pthread_join(thread[i], NULL);
	stopwatch_print(&watch, (double)(threads / 2) * (double)batches * BLOCKS);
	return 0;
}
