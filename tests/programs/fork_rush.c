/* SPDX-License-Identifier: MIT */
// build: -lpthread
/*
 * fork_rush CHILDREN: in each child eight threads make its first allocations at once. Threads that
 * the parent has leave their stacks to the child, so that pthread_create() allocates nothing there.
 */
#include <pthread.h>
#include <sys/wait.h>

#include "truth.h"

enum { THREADS = 8, START_US = 300 };

static int until_end[2];
static volatile int go;

static void *wait_for_end(void *unused)
{
	char byte;

	(void)!read(until_end[0], &byte, 1);
	return unused;
}

static void *rush(void *unused)
{
	while (!go)
		;
	free(truth_hide_ptr(malloc(10)));
	return unused;
}

static void start(pthread_t *threads, void *(*body)(void *unused))
{
	for (int i = 0; i < THREADS; i++)
		EXPECT(pthread_create(&threads[i], NULL, body, NULL) == 0);
}

int main(int argc, char **argv)
{
	int children = argc == 2 ? atoi(argv[1]) : 0;
	pthread_t threads[THREADS];

	EXPECT(pipe(until_end) == 0);
	start(threads, wait_for_end);
	for (int i = 0; i < children; i++) {
		int status = 1;

		if (fork() == 0) {
			start(threads, rush);
			(void)usleep(START_US);
			go = 1;
			for (int n = 0; n < THREADS; n++)
				(void)pthread_join(threads[n], NULL);
			_exit(truth_failures != 0);
		}
		EXPECT(wait(&status) > 0 && status == 0);
	}
	_exit(truth_failures != 0);
}
