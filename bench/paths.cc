/* SPDX-License-Identifier: MIT */
/*
 * paths [PAIRS]
 *
 * The worst case for a walker that remembers: every malloc comes by another random call path, one
 * of 4,096 stacks of 14 frames, and nothing else is done. Twelve times one of two call sites.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "stopwatch.h"

enum { LEVELS = 11, RING = 1024 };

static void *ring[RING];

/* The two calls differ by a comment in the code only, so that they are not merged. */
#define TWO_SITES(bit, call)                                \
	do {                                                \
		if (bit) {                                  \
			call;                               \
			asm volatile("# one" ::: "memory"); \
		} else {                                    \
			call;                               \
			asm volatile("# two" ::: "memory"); \
		}                                           \
	} while (0)

template <int N> __attribute__((noinline)) static void step(uint32_t path, void **slot)
{
	if constexpr (N == LEVELS)
		TWO_SITES(path & 1, *slot = malloc(16 + (path & 0xf0)));
	else
		TWO_SITES(path & 1, step<N + 1>(path >> 1, slot));
}

static void run(long pairs)
{
	uint64_t x = 88172645463325252ull;

	for (long i = 0; i < pairs; i++) {
		void **slot = &ring[i % RING];
		uint32_t path;

		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		path = (uint32_t)(x >> 20);
		free(*slot);
		TWO_SITES(path & 1, step<1>(path >> 1, slot));
	}
}

static void *thread_main(void *arg)
{
	long pairs = *(long *)arg;
	struct stopwatch watch;

	/* One call site for both, so that the stacks of the timed part have been seen before. */
	for (int timed = 0; timed < 2; timed++) {
		stopwatch_start(&watch);
		run(timed ? pairs : 40000);
	}
	stopwatch_print(&watch, (double)pairs);
	return nullptr;
}

int main(int argc, char **argv)
{
	long pairs = argc > 1 ? strtol(argv[1], nullptr, 10) : 2000000;
	pthread_t thread;

	if (pthread_create(&thread, nullptr, thread_main, &pairs))
		return 3;
	pthread_join(thread, nullptr);
	return 0;
}
