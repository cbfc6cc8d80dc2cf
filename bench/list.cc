/* SPDX-License-Identifier: MIT */
/*
 * list [--threads N] [--nodes N] [--depth N] [--rounds N]
 *
 * Every thread builds a std::list and destroys it, as often as there are rounds: after the first
 * the heap has its pages. `depth` counts the frames from the caller of operator new to the first
 * frame of the thread, both included. Prints the workload's own time.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <list>

#include "stopwatch.h"

enum { MAX_THREADS = 256, MAX_DEPTH = 64, OUTER_FRAMES = 3 /* thread_main and libc's two */ };

static long nodes = 1000000, rounds = 1;
static int threads = 2, depth = 5;
static pthread_barrier_t start;

template <int N> __attribute__((noinline)) static long build(int levels)
{
	long sum = 0;

	if constexpr (N < MAX_DEPTH) {
		if (levels > 1) {
			sum = build<N + 1>(levels - 1);
			asm volatile("" : "+r"(sum));
			return sum;
		}
	}
	std::list<long> list;
	for (long i = 0; i < nodes; i++)
		list.push_back(i);
	asm volatile("" ::"r"(&list) : "memory");
	return list.back();
}

/*
 * One a millisecond after the other. In step they would meet at the kernel's lock of the address
 * space whenever their heaps grow, in some runs and not in others: 10 % of the time.
 */
static void *thread_main(void *number)
{
	pthread_barrier_wait(&start);
	(void)usleep(1000 * (unsigned)(uintptr_t)number);
	for (long i = 0; i < rounds; i++)
		if (build<1>(depth - OUTER_FRAMES) != nodes - 1)
			abort();
	return nullptr;
}

int main(int argc, char **argv)
{
	static pthread_t thread[MAX_THREADS];
	struct stopwatch watch;

	for (int i = 1; i + 1 < argc; i += 2) {
		long value = strtol(argv[i + 1], nullptr, 10);

		if (strcmp(argv[i], "--threads") == 0)
			threads = (int)value;
		else if (strcmp(argv[i], "--nodes") == 0)
			nodes = value;
		else if (strcmp(argv[i], "--depth") == 0)
			depth = (int)value;
		else if (strcmp(argv[i], "--rounds") == 0)
			rounds = value;
	}
	if (threads < 1 || threads > MAX_THREADS || depth <= OUTER_FRAMES || depth > MAX_DEPTH)
		return 2;
	pthread_barrier_init(&start, nullptr, (unsigned)threads + 1);
	for (int i = 0; i < threads; i++)
		if (pthread_create(&thread[i], nullptr, thread_main, (void *)(uintptr_t)i))
			return 3;
	stopwatch_start(&watch);
	pthread_barrier_wait(&start);
	for (int i = 0; i < threads; i++)
		pthread_join(thread[i], nullptr);
	stopwatch_print(&watch, (double)nodes * threads * rounds);
	return 0;
}
