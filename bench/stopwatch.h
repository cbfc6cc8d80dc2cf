/* SPDX-License-Identifier: MIT */
/* Time of a workload without start and end of the process, printed as bench/run.py reads it. */
#ifndef SEEP_BENCH_STOPWATCH_H
#define SEEP_BENCH_STOPWATCH_H

#include <stdio.h>
#include <sys/resource.h>
#include <time.h>

struct stopwatch {
	long long wall_ns, cpu_ns;
};

static inline long long stopwatch_wall_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ll + t.tv_nsec;
}

static inline long long stopwatch_cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return t.tv_sec * 1000000000ll + t.tv_nsec;
}

static inline void stopwatch_start(struct stopwatch *watch)
{
	watch->cpu_ns = stopwatch_cpu_ns();
	watch->wall_ns = stopwatch_wall_ns();
}

/*
 * @pairs: allocations, each with its free, that the time was spent on. end_ns is when the program
 * has nothing more to do: whoever waits for it can tell what its end costs.
 */
static inline void stopwatch_print(const struct stopwatch *watch, double pairs)
{
	long long wall_ns = stopwatch_wall_ns() - watch->wall_ns;
	long long cpu_ns = stopwatch_cpu_ns() - watch->cpu_ns;

	printf("time_ns=%lld cpu_ns=%lld ns_per_pair=%.2f end_ns=%lld\n", wall_ns, cpu_ns,
	       (double)cpu_ns / pairs, stopwatch_wall_ns());
}

#endif
