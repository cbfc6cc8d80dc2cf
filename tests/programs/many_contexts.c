/* SPDX-License-Identifier: MIT */
// build: -pthread
/*
 * many_contexts [THREADS [STACKS [SECONDS [BURST]]]]
 *
 * STACKS distinct call stacks (200,000), shared out among THREADS threads (64). Each thread walks its
 * share again and again, BURST stacks (1) a millisecond, and keeps the newest block of each stack. What
 * there is is printed once all stacks were met.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static long threads = 64, stacks = 200000, seconds = 60, burst = 1;
static pthread_barrier_t met;
static void **blocks;

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

/* A function for each level: recursion would be folded. */
#define LEVEL(number, next)                                                          \
	__attribute__((noinline)) static void level_##number(uint32_t path, long at) \
	{                                                                            \
		TWO_SITES(path & 1, next(path >> 1, at));                            \
	}

__attribute__((noinline)) static void keep(uint32_t path, long at)
{
	free(blocks[at]);
	blocks[at] = malloc(64 + at % 64);
}

LEVEL(17, keep)
LEVEL(16, level_17)
LEVEL(15, level_16)
LEVEL(14, level_15)
LEVEL(13, level_14)
LEVEL(12, level_13)
LEVEL(11, level_12)
LEVEL(10, level_11)
LEVEL(9, level_10)
LEVEL(8, level_9)
LEVEL(7, level_8)
LEVEL(6, level_7)
LEVEL(5, level_6)
LEVEL(4, level_5)
LEVEL(3, level_4)
LEVEL(2, level_3)
LEVEL(1, level_2)
LEVEL(0, level_1)

static void *work(void *arg)
{
	const long me = (long)arg, share = stacks / threads;
	const struct timespec pause = { .tv_nsec = 1000000 };

	for (long i = 0;; i++) {
		level_0((uint32_t)(me * share + i % share), me * share + i % share);
		if (i == share - 1)
			pthread_barrier_wait(&met);
		if (i >= share && i % burst == 0)
			nanosleep(&pause, NULL);
	}
}

int main(int argc, char **argv)
{
	pthread_t thread;

	if (argc > 1)
		threads = atol(argv[1]);
	if (argc > 2)
		stacks = atol(argv[2]);
	if (argc > 3)
		seconds = atol(argv[3]);
	if (argc > 4)
		burst = atol(argv[4]);
	blocks = calloc((size_t)stacks, sizeof(*blocks));
	pthread_barrier_init(&met, NULL, (unsigned)threads + 1);
	for (long i = 0; i < threads; i++)
		pthread_create(&thread, NULL, work, (void *)i);
	pthread_barrier_wait(&met);
	printf("stacks=%ld threads=%ld\n", stacks / threads * threads, threads);
	fflush(stdout);
	nanosleep(&(struct timespec){ .tv_sec = seconds }, NULL);
	return 0;
}
