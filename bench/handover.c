/* SPDX-License-Identifier: MIT */
/*
 * handover [PAIRS_OF_THREADS [BLOCKS]]
 *
 * One thread of each pair allocates, the other frees: all of what it allocated, in batches of 256.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "random.h"
#include "stopwatch.h"

enum { PAIRS_MAX = 128, BATCH = 256, BATCHES = 16 };

struct queue {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	unsigned int filled, emptied; /* batches so far; under the lock */
	long batches;
	uint64_t state;
	void *block[BATCHES][BATCH];
};

static void wait_for_room(struct queue *queue)
{
	pthread_mutex_lock(&queue->lock);
	while (queue->filled - queue->emptied == BATCHES)
		pthread_cond_wait(&queue->changed, &queue->lock);
	pthread_mutex_unlock(&queue->lock);
}

static void wait_for_batch(struct queue *queue)
{
	pthread_mutex_lock(&queue->lock);
	while (queue->filled == queue->emptied)
		pthread_cond_wait(&queue->changed, &queue->lock);
	pthread_mutex_unlock(&queue->lock);
}

static void advance(struct queue *queue, unsigned int *counter)
{
	pthread_mutex_lock(&queue->lock);
	(*counter)++;
	pthread_cond_signal(&queue->changed);
	pthread_mutex_unlock(&queue->lock);
}

static void *produce(void *arg)
{
	struct queue *queue = arg;

	for (long n = 0; n < queue->batches; n++) {
		wait_for_room(queue);
		for (int i = 0; i < BATCH; i++)
			queue->block[n % BATCHES][i] = malloc(random_size(&queue->state));
		advance(queue, &queue->filled);
	}
	return NULL;
}

static void *consume(void *arg)
{
	struct queue *queue = arg;

	for (long n = 0; n < queue->batches; n++) {
		wait_for_batch(queue);
		for (int i = 0; i < BATCH; i++)
			free(queue->block[n % BATCHES][i]);
		advance(queue, &queue->emptied);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	static struct queue queue[PAIRS_MAX];
	static pthread_t thread[2 * PAIRS_MAX];
	int pairs = argc > 1 ? atoi(argv[1]) : 4;
	long blocks = argc > 2 ? strtol(argv[2], NULL, 10) : 500000;
	struct stopwatch watch;

	if (pairs < 1 || pairs > PAIRS_MAX)
		return 2;
	stopwatch_start(&watch);
	for (int i = 0; i < pairs; i++) {
		pthread_mutex_init(&queue[i].lock, NULL);
		pthread_cond_init(&queue[i].changed, NULL);
		queue[i].batches = blocks / BATCH;
		queue[i].state = random_seed((uint64_t)i);
		if (pthread_create(&thread[2 * i], NULL, produce, &queue[i]) ||
		    pthread_create(&thread[2 * i + 1], NULL, consume, &queue[i]))
			return 3;
	}
	for (int i = 0; i < 2 * pairs; i++)
		pthread_join(thread[i], NULL);
	stopwatch_print(&watch, (double)pairs * (double)blocks);
	return 0;
}
