/* SPDX-License-Identifier: MIT */
// build: -pthread
/*
 * Allocates, installs a seccomp filter that answers madvise with the error of that number, and goes
 * on under many new stacks, or in many new threads that live at once. Or the filter is about read
 * or getpid, and a forked child goes on, a second time when its standard input ends. Prints its
 * truth.
 */
#include <poll.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "seccomp_filter.h"
#include "truth.h"

enum { STACKS = 4000, THREADS = 40, BLOCK_BYTES = 48 };

TRUTH_MAKER(counted, malloc(bytes));

static pthread_barrier_t all_live;

#include "stack_tree.h"

static void refuse(int number, uint32_t error)
{
	EXPECT(set_filter(&number, 1, SECCOMP_RET_ERRNO | error, SECCOMP_RET_ALLOW) == 0);
}

static void *allocate(void *unused)
{
	(void)unused;
	(void)counted(BLOCK_BYTES);
	(void)pthread_barrier_wait(&all_live);
	return NULL;
}

static void in_threads(void)
{
	pthread_t threads[THREADS];

	EXPECT(pthread_barrier_init(&all_live, NULL, THREADS) == 0);
	for (int i = 0; i < THREADS; i++)
		EXPECT(pthread_create(&threads[i], NULL, allocate, NULL) == 0);
	for (int i = 0; i < THREADS; i++)
		EXPECT(pthread_join(threads[i], NULL) == 0);
}

static void in_stacks(void)
{
	for (unsigned i = 0; i < STACKS; i++)
		(void)left_22(i);
}

static void in_a_child(void)
{
	struct pollfd input = { .fd = STDIN_FILENO, .events = POLLIN };
	int status = 0;
	pid_t child = fork();

	EXPECT(child >= 0);
	if (child > 0) {
		EXPECT(waitpid(child, &status, 0) == child && status == 0);
		_exit(truth_failures != 0);
	}
	truth_reset();
	in_stacks();
	EXPECT(poll(&input, 1, -1) == 1);
	in_stacks();
}

int main(int argc, char **argv)
{
	const uint32_t error = argc == 3 ? (uint32_t)atoi(argv[1]) : 0;
	const char *way = argc == 3 ? argv[2] : "";

	(void)counted(BLOCK_BYTES);
	refuse(strcmp(way, "read") == 0	    ? SYS_read
	       : strcmp(way, "getpid") == 0 ? SYS_getpid
					    : SYS_madvise,
	       error);
	if (strcmp(way, "threads") == 0)
		in_threads();
	else if (strcmp(way, "stacks") == 0)
		in_stacks();
	else
		in_a_child();
	truth_print();
	return truth_failures != 0;
}
