/* SPDX-License-Identifier: MIT */
// build: -pthread
/*
 * Many threads that all come by stacks of their own for the first time, at once: 2^DEPTH ways
 * through two call sites each. The tables that stacks are entered in are where they meet. Prints
 * how many stacks that were.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { THREADS = 600, STACKS = 256, DEPTH = 18 };

static pthread_barrier_t barrier;

template <int N> __attribute__((noinline)) static void step(uint32_t path)
{
	if constexpr (N == DEPTH) {
		void *volatile block = malloc(24 + (path & 1));

		free(block);
	} else if (path & 1) {
		step<N + 1>(path >> 1);
		asm volatile("# one" ::: "memory");
	} else {
		step<N + 1>(path >> 1);
		asm volatile("# two" ::: "memory");
	}
}

static void *thread_main(void *arg)
{
	uint32_t first = (uint32_t)(uintptr_t)arg * STACKS;

	pthread_barrier_wait(&barrier);
	for (uint32_t i = 0; i < STACKS; i++)
		step<0>(first + i);
	return nullptr;
}

int main()
{
	static pthread_t threads[THREADS];

	pthread_barrier_init(&barrier, nullptr, THREADS);
	for (uintptr_t i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], nullptr, thread_main, (void *)i) != 0)
			return 3;
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], nullptr);
	printf("%d\n", THREADS * STACKS);
	return 0;
}
