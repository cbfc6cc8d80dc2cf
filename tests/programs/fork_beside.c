/* SPDX-License-Identifier: MIT */
// build: -pthread
/*
 * fork_beside N: N forked children, one after the other. In each, one thread makes 1,100 blocks, and
 * with the first of them the child's ledger; another forks all the time until that is done: one after
 * the other, children of 5 blocks.
 */
#include <pthread.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "truth.h"

enum { BYTES = 24, MANY = 1100, FEW = 5, HEAD_START_US = 500 };

static unsigned long *made; /* blocks, in all children; shared memory */
static int is_done;

static void allocate(unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		EXPECT(truth_hide_ptr(malloc(BYTES)) != NULL);
	(void)__atomic_fetch_add(made, count, __ATOMIC_RELAXED);
}

static void *make_many(void *unused)
{
	(void)usleep(HEAD_START_US);
	allocate(MANY);
	__atomic_store_n(&is_done, 1, __ATOMIC_RELAXED);
	return unused;
}

static void *just_end(void *unused)
{
	return unused;
}

static void be_child(void)
{
	pthread_t thread;

	EXPECT(pthread_create(&thread, NULL, make_many, NULL) == 0);
	while (!__atomic_load_n(&is_done, __ATOMIC_RELAXED)) {
		if (fork() == 0) {
			allocate(FEW);
			_exit(truth_failures != 0);
		}
		EXPECT(wait(NULL) > 0);
	}
	EXPECT(pthread_join(thread, NULL) == 0);
	_exit(truth_failures != 0);
}

int main(int argc, char **argv)
{
	pthread_t thread;

	EXPECT(argc == 2);
	/* Its stack is used again in the children: pthread_create() allocates nothing there. */
	EXPECT(pthread_create(&thread, NULL, just_end, NULL) == 0);
	EXPECT(pthread_join(thread, NULL) == 0);
	made = mmap(NULL, sizeof(*made), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	EXPECT(made != MAP_FAILED);
	EXPECT(truth_hide_ptr(malloc(1)) != NULL);
	for (int i = 0; i < atoi(argv[1]); i++) {
		if (fork() == 0)
			be_child();
		EXPECT(wait(NULL) > 0);
	}
	(void)dprintf(1, "%lu\n", *made);
	return truth_failures != 0;
}
