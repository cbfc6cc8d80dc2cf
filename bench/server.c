/* SPDX-License-Identifier: MIT */
/*
 * server [THREADS [OPERATIONS]]
 *
 * Allocation as in a server that hands its connections on: every thread replaces random ones of
 * its 1,000 blocks, and after a tenth of its work ends and leaves them to the thread that follows
 * it, so that blocks are freed by another thread than theirs.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "random.h"
#include "stopwatch.h"

enum { THREADS_MAX = 256, BLOCKS = 1000, LIVES = 10 };

struct place {
	uint64_t state;
	long operations, lives;
	void *block[BLOCKS];
	pthread_barrier_t *done;
};

__attribute__((noinline)) static void *request(uint32_t size)
{
	char *block = malloc(size);

	if (!block)
		abort();
	block[0] = block[size - 1] = 1;
	return block;
}

static void *serve(void *arg);

static void hand_over(struct place *place)
{
	pthread_t next;

	if (pthread_create(&next, NULL, serve, place))
		abort();
	pthread_detach(next);
}

static void *serve(void *arg)
{
	struct place *place = arg;

	for (long i = 0; i < place->operations / LIVES; i++) {
		void **slot = &place->block[random_next(&place->state) % BLOCKS];

		free(*slot);
		*slot = request(random_size(&place->state));
	}
	if (--place->lives > 0)
		hand_over(place);
	else
		pthread_barrier_wait(place->done);
	return NULL;
}

int main(int argc, char **argv)
{
	static struct place place[THREADS_MAX];
	int threads = argc > 1 ? atoi(argv[1]) : 16;
	long operations = argc > 2 ? strtol(argv[2], NULL, 10) : 200000;
	pthread_barrier_t done;
	struct stopwatch watch;

	if (threads < 1 || threads > THREADS_MAX)
		return 2;
	pthread_barrier_init(&done, NULL, (unsigned)threads + 1);
	stopwatch_start(&watch);
	for (int i = 0; i < threads; i++) {
		place[i] = (struct place){ .state = random_seed((uint64_t)i), .lives = LIVES };
		place[i].operations = operations;
		place[i].done = &done;
		hand_over(&place[i]);
	}
	pthread_barrier_wait(&done);
	stopwatch_print(&watch, (double)threads * (double)operations);
	return 0;
}
