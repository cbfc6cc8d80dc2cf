/* SPDX-License-Identifier: MIT */
// build: -pthread
/*
 * Two threads allocate and free until standard input ends; then the exit status is 7. With an
 * argument a child does the same, and the parent waits for it.
 */
#include "truth.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <time.h>

enum { KEPT = 100000, ROUND = 100 };

TRUTH_SITE(keep);

static atomic_int stop;

SITE static void *keep(size_t bytes)
{
	return malloc(bytes);
}

static void *work(void *unused)
{
	const struct timespec pause = { .tv_nsec = 2000000 };

	for (unsigned kept = 0; !stop && kept < KEPT; kept++) {
		void *volatile block = keep(100);

		if (kept % 3 == 0)
			free(block);
		if (kept % ROUND == 0)
			(void)nanosleep(&pause, NULL);
	}
	return unused;
}

static void run(void)
{
	pthread_t threads[2];
	char byte;

	for (int i = 0; i < 2; i++)
		(void)pthread_create(&threads[i], NULL, work, NULL);
	while (read(STDIN_FILENO, &byte, 1) > 0)
		;
	stop = 1;
	for (int i = 0; i < 2; i++)
		(void)pthread_join(threads[i], NULL);
}

int main(int argc, char **argv)
{
	pid_t child = argc > 1 ? fork() : -1;

	(void)argv;
	if (child != 0 && write(STDOUT_FILENO, "ready\n", 6) != 6)
		return 1;
	run();
	if (child > 0)
		(void)waitpid(child, NULL, 0);
	return child == 0 ? 0 : 7;
}
