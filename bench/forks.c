/* SPDX-License-Identifier: MIT */
/*
 * forks [BLOCKS [DEPTH [FORKS [CHILD]]]]
 *
 * What does fork() cost with so many blocks of 24 bytes alive, called so many frames deep? Prints
 * medians: until fork() is back in the parent; until a child that ends at once has been waited
 * for; the same for a child that allocates once. And the CPU time of parent and child together, per
 * fork, for each of the children below, or CHILD only.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "stopwatch.h"

enum { FORKS_MAX = 1000, INHERITED = 200, MANY = 500, PLACES = 100, GROWN = 1100 };

static void *volatile last;
static void *inherited[INHERITED];

__attribute__((noipa)) static void keep(void)
{
	last = malloc(24);
}

/* A call stack for each value of the lowest bits of @place. Recursion of one would be folded. */
#define SIDE(name)                                                          \
	__attribute__((noipa)) static void name(unsigned place, int levels) \
	{                                                                   \
		if (!levels)                                                \
			keep();                                             \
		else if (place & 1)                                         \
			right(place >> 1, levels - 1);                      \
		else                                                        \
			left(place >> 1, levels - 1);                       \
		__asm__ volatile("" ::: "memory");                          \
	}

static void right(unsigned place, int levels);
SIDE(left)
SIDE(right)

static void from_places(int blocks, unsigned places)
{
	for (int i = 0; i < blocks; i++)
		left((unsigned)i % places, 7);
}

static void quiet(void)
{
}

static void once(void)
{
	last = malloc(24);
}

static void ten(void)
{
	from_places(10, 10);
}

static void many(void)
{
	from_places(MANY, PLACES);
}

static void frees(void)
{
	for (int i = 0; i < INHERITED; i++)
		free(inherited[i]);
}

/* So many that it has a ledger at last. */
static void grown(void)
{
	from_places(GROWN, PLACES);
}

static void execs(void)
{
	static char *arguments[] = { "/bin/true", NULL };
	static char *nothing[] = { NULL };

	last = malloc(24);
	(void)execve(arguments[0], arguments, nothing);
}

static const struct child {
	const char *name;
	void (*life)(void);
} children[] = {
	{ "quiet", quiet }, { "once", once },	{ "ten", ten },	    { "many", many },
	{ "frees", frees }, { "grown", grown }, { "execs", execs },
};

enum { CHILDREN = sizeof(children) / sizeof(children[0]) };

struct times {
	long long back_ns[FORKS_MAX], whole_ns[FORKS_MAX], cpu_ns;
};

static int compare(const void *a, const void *b)
{
	long long one = *(const long long *)a, other = *(const long long *)b;

	return (one > other) - (one < other);
}

static long long cpu_of_all_ns(void)
{
	const int whose[] = { RUSAGE_SELF, RUSAGE_CHILDREN };
	long long us = 0;

	for (int i = 0; i < 2; i++) {
		struct rusage used;

		if (getrusage(whose[i], &used) != 0)
			abort();
		us += (used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1000000ll +
		      used.ru_utime.tv_usec + used.ru_stime.tv_usec;
	}
	return us * 1000;
}

static void fork_once(struct times *times, int i, const struct child *kind)
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
		kind->life();
		_exit(0);
	}
	times->back_ns[i] = stopwatch_wall_ns() - before;
	if (waitpid(child, &status, 0) != child || status != 0)
		abort();
	times->whole_ns[i] = stopwatch_wall_ns() - before;
}

__attribute__((noinline)) static void measure(struct times *times, int forks,
					      const struct child *kind, long levels)
{
	if (levels > 1) {
		measure(times, forks, kind, levels - 1);
		__asm__ volatile("" ::: "memory");
		return;
	}
	times->cpu_ns = cpu_of_all_ns();
	for (int i = 0; i < forks; i++)
		fork_once(times, i, kind);
	times->cpu_ns = (cpu_of_all_ns() - times->cpu_ns) / forks;
	qsort(times->back_ns, (size_t)forks, sizeof(times->back_ns[0]), compare);
	qsort(times->whole_ns, (size_t)forks, sizeof(times->whole_ns[0]), compare);
}

int main(int argc, char **argv)
{
	long blocks = argc > 1 ? strtol(argv[1], NULL, 10) : 0;
	long depth = argc > 2 ? strtol(argv[2], NULL, 10) : 5;
	int forks = argc > 3 ? atoi(argv[3]) : 100;
	const char *only = argc > 4 ? argv[4] : NULL;
	static struct times times[CHILDREN];
	struct stopwatch watch;

	if (forks < 1 || forks > FORKS_MAX || depth < 1)
		return 2;
	for (long i = 0; i < blocks; i++) {
		last = malloc(24);
		if (!last)
			return 3;
		*(volatile long *)last = i;
	}
	for (int i = 0; i < INHERITED; i++)
		inherited[i] = malloc(24);
	stopwatch_start(&watch);
	for (int i = 0; i < CHILDREN; i++)
		if (!only || strcmp(only, children[i].name) == 0)
			measure(&times[i], forks, &children[i], depth);
	stopwatch_print(&watch, (double)CHILDREN * forks);
	printf("back_ns=%lld whole_ns=%lld allocating_ns=%lld", times[0].back_ns[forks / 2],
	       times[0].whole_ns[forks / 2], times[1].whole_ns[forks / 2]);
	for (int i = 0; i < CHILDREN; i++)
		printf(" %s_cpu_ns=%lld", children[i].name, times[i].cpu_ns);
	printf("\n");
	return 0;
}
