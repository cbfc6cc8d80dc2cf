/* SPDX-License-Identifier: MIT */
// build: -lpthread
/*
 * Four threads of a forked child allocate for the first time at the same moment: one of them
 * begins the child's ledger, and the others' first blocks are counted too. Threads that the parent
 * had leave their stacks to the child, so that pthread_create() itself allocates nothing there.
 */
#include <pthread.h>
#include <sched.h>
#include <sys/wait.h>

#include "truth.h"

enum { THREADS = 4, EACH = 3000, BYTES = 64 };

TRUTH_SITE(in_thread);

static _Atomic int ready, go;

static SITE void in_thread(void)
{
	TRUTH_TEMPORARY(in_thread, BYTES);
}

static void *body(void *argument)
{
	ready++;
	while (!go)
		(void)sched_yield();
	for (int i = 0; i < EACH; i++)
		in_thread();
	return argument;
}

static void run_threads(void)
{
	pthread_t threads[THREADS];

	ready = go = 0;
	for (int i = 0; i < THREADS; i++)
		EXPECT(pthread_create(&threads[i], NULL, body, NULL) == 0);
	while (ready < THREADS)
		(void)sched_yield();
	go = 1;
	for (int i = 0; i < THREADS; i++)
		EXPECT(pthread_join(threads[i], NULL) == 0);
}

int main(void)
{
	int status = 0;

	run_threads();
	if (fork() == 0) {
		truth_reset();
		run_threads();
		truth_print_child();
		_exit(0);
	}
	EXPECT(wait(&status) > 0 && status == 0);
	truth_print();
	return truth_failures != 0;
}
