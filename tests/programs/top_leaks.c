/* SPDX-License-Identifier: MIT */
// build: -pthread
/*
 * Two leaks that hide among blocks that come and go, until standard input ends: remember() adds to a
 * list that nobody empties, produce() makes three messages where consume() frees two. forget() loses
 * some at the start. serve() and
 * fill_cache() are as they should be. A line "stop" ends the leaks only: figures hold still from then
 * on, and the truth is printed.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { NODE = 120, MESSAGE = 200, REQUESTS = 32, CACHE = 256, FORGOTTEN = 10 };

struct node {
	struct node *next;
	char text[NODE - sizeof(void *)];
};

static struct node *history, *queue;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static atomic_int stopping;
static unsigned long nodes, made, used;
static void *cache[CACHE];

static void pause_ns(long ns)
{
	nanosleep(&(struct timespec){ .tv_nsec = ns }, NULL);
}

__attribute__((noinline)) static void forget(void)
{
	for (volatile int i = 0; i < FORGOTTEN; i++)
		*(volatile char *)malloc(64 + i) = 1;
}

__attribute__((noinline)) static void remember(void)
{
	struct node *node = malloc(sizeof(*node));

	node->next = history;
	history = node;
	nodes++;
}

__attribute__((noinline)) static void produce(void)
{
	struct node *message = malloc(MESSAGE);

	pthread_mutex_lock(&lock);
	message->next = queue;
	queue = message;
	made++;
	pthread_mutex_unlock(&lock);
}

__attribute__((noinline)) static void consume(void)
{
	struct node *message;

	pthread_mutex_lock(&lock);
	message = queue;
	if (message) {
		queue = message->next;
		used++;
	}
	pthread_mutex_unlock(&lock);
	free(message);
}

__attribute__((noinline)) static void serve(void)
{
	void *requests[REQUESTS];

	for (int i = 0; i < REQUESTS; i++)
		requests[i] = malloc(64 + i);
	for (int i = 0; i < REQUESTS; i++)
		free(requests[i]);
}

__attribute__((noinline)) static void fill_cache(unsigned round)
{
	void **place = &cache[round % CACHE];

	free(*place);
	*place = malloc(500);
}

static void *producer(void *unused)
{
	while (!stopping) {
		for (volatile int i = 0; i < 3; i++)
			produce();
		pause_ns(1000000);
	}
	return unused;
}

static void *consumer(void *unused)
{
	while (!stopping) {
		for (int i = 0; i < 2; i++)
			consume();
		pause_ns(1000000);
	}
	return unused;
}

static void *rest(void *unused)
{
	for (unsigned round = 0; !stopping; round++) {
		remember();
		serve();
		fill_cache(round);
		pause_ns(1000000);
	}
	return unused;
}

int main(void)
{
	void *(*const work[])(void *) = { producer, consumer, rest };
	pthread_t threads[3];
	char line[16];

	forget();
	for (int i = 0; i < 3; i++)
		pthread_create(&threads[i], NULL, work[i], NULL);
	printf("ready\n");
	fflush(stdout);
	if (fgets(line, sizeof(line), stdin)) {
		stopping = 1;
		for (int i = 0; i < 3; i++)
			pthread_join(threads[i], NULL);
		printf("truth remember live_blocks=%lu live_bytes=%lu allocs=%lu\n", nodes,
		       nodes * NODE, nodes);
		printf("truth produce live_blocks=%lu live_bytes=%lu allocs=%lu frees=%lu\n",
		       made - used, (made - used) * MESSAGE, made, used);
		fflush(stdout);
		while (fgets(line, sizeof(line), stdin))
			;
	}
	return 0;
}
