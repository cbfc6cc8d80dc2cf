/* SPDX-License-Identifier: MIT */
/*
 * forks [BLOCKS [DEPTH [FORKS]]]
 *
 * What does fork() cost with so many blocks of 24 bytes alive, called so many frames deep? Prints
 * medians: until fork() is back in the parent; until a child that ends at once has been waited
 * for; the same for a child that allocates once.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "stopwatch.h"

enum { FORKS_MAX = 1000 };

struct times {
	long long back_ns[FORKS_MAX], whole_ns[FORKS_MAX];
};

static void *volatile last;

static int compare(const void *a, const void *b)
{
	long long one = *(const long long *)a, other = *(const long long *)b;

	return (one > other) - (one < other);
}

static void fork_once(struct times *times, int i, int allocates)
{
	long long before;
	pid_t child;
	int status;

	/* Most stacks that fork have allocated before. */
	free(last);
	last = malloc(24);
	before = stopwatch_wall_ns();
	child = fork();
	if (child < 0)
		abort();
	if (child == 0) {
		if (allocates)
			last = malloc(24);
		_exit(0);
	}
	times->back_ns[i] = stopwatch_wall_ns() - before;
	if (waitpid(child, &status, 0) != child || status != 0)
		abort();
	times->whole_ns[i] = stopwatch_wall_ns() - before;
}

__attribute__((noinline)) static void measure(struct times *times, int forks, int allocates,
					      long levels)
{
	if (levels > 1) {
		measure(times, forks, allocates, levels - 1);
		__asm__ volatile("" ::: "memory");
		return;
	}
	for (int i = 0; i < forks; i++)
		fork_once(times, i, allocates);
	qsort(times->back_ns, (size_t)forks, sizeof(times->back_ns[0]), compare);
	qsort(times->whole_ns, (size_t)forks, sizeof(times->whole_ns[0]), compare);
}

int main(int argc, char **argv)
{
	long blocks = argc > 1 ? strtol(argv[1], NULL, 10) : 0;
	long depth = argc > 2 ? strtol(argv[2], NULL, 10) : 5;
	int forks = argc > 3 ? atoi(argv[3]) : 100;
	static struct times quiet, busy;
	struct stopwatch watch;

	if (forks < 1 || forks > FORKS_MAX || depth < 1)
		return 2;
	for (long i = 0; i < blocks; i++) {
		last = malloc(24);
		if (!last)
			return 3;
		*(volatile long *)last = i;
	}
	stopwatch_start(&watch);
	measure(&quiet, forks, 0, depth);
	measure(&busy, forks, 1, depth);
	stopwatch_print(&watch, 2.0 * forks);
	printf("back_ns=%lld whole_ns=%lld allocating_ns=%lld\n", quiet.back_ns[forks / 2],
	       quiet.whole_ns[forks / 2], busy.whole_ns[forks / 2]);
	return 0;
}
