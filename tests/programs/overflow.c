/* SPDX-License-Identifier: MIT */
// build: -pthread
/*
 * overflow BYTES REACH alone|threads|child: allocates a block and writes to all of the REACH bytes
 * beyond it, or before it where that is negative: up to where nothing is.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { THREADS = 4, STEP = 64 };

static pthread_barrier_t all_have_some;

static void *have_some(void *unused)
{
	void *block = malloc(200 << 10);

	(void)unused;
	(void)pthread_barrier_wait(&all_have_some);
	(void)pause();
	free(block);
	return NULL;
}

static void start_threads(void)
{
	pthread_t thread;

	(void)pthread_barrier_init(&all_have_some, NULL, THREADS + 1);
	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&thread, NULL, have_some, NULL) != 0)
			_exit(2);
	(void)pthread_barrier_wait(&all_have_some);
}

int main(int argc, char **argv)
{
	size_t bytes = argc > 3 ? strtoul(argv[1], NULL, 0) : 0;
	long reach = argc > 3 ? strtol(argv[2], NULL, 0) : 0;
	char *block = (char *)malloc(1000);
	int status = 0;

	free(block);
	if (strcmp(argv[3], "threads") == 0)
		start_threads();
	if (strcmp(argv[3], "child") == 0 && fork() != 0) {
		(void)wait(&status);
		(void)printf("%d\n", status);
		return 0;
	}
	block = (char *)malloc(bytes);
	if (!block)
		return 2;
	for (long at = 0; at < reach; at += STEP)
		((volatile char *)block)[(long)bytes + at] = 1;
	for (long at = -STEP; at > reach; at -= STEP)
		((volatile char *)block)[at] = 1;
	(void)puts("done");
	return 0;
}
