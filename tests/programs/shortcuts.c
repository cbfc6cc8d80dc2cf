/* SPDX-License-Identifier: MIT */
// build: -pthread
/*
 * Few places that allocate again and again, below stacks that differ a little: in which of two
 * calls of the same function they stand, and in how its frame and the next share the same room. At
 * first, ways that grow by one frame at a time, and others of up to DEPTH frames at once. For
 * verify=1: what was walked before often comes again, and as often nearly so.
 *
 * usage: shortcuts ROUNDS
 */
#include <alloca.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { LEVELS = 5, PLACES_PER_LEVEL = 3, DEPTH = 48, THREADS = 32 };

static uint64_t state = 88172645463325252ull;
static _Atomic uint64_t allocated;

static uint64_t chance(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state >> 11;
}

/* After a call: it is not the last thing that its function does. */
#define STAY() __asm__ volatile("" ::: "memory")

static __attribute__((noinline)) void place(unsigned which, size_t size)
{
	void *volatile block = NULL;

	switch (which % PLACES_PER_LEVEL) {
	case 0:
		block = malloc(size);
		break;
	case 1:
		block = malloc(size + 1);
		STAY();
		break;
	default:
		block = calloc(1, size);
		break;
	}
	allocated++;
	free(block);
	STAY();
}

static void (*volatile next_level[LEVELS + 1])(unsigned level, size_t room);

/* Of @room, some here and the rest further in: the innermost frame lies where it lay before. */
static __attribute__((noinline)) void with_room(unsigned level, size_t room)
{
	size_t here = chance() % 2 ? room : 0;
	volatile char *pad = alloca(here + 64);

	pad[0] = 1;
	if (chance() % 2) {
		next_level[level](level + 1, room - here);
		STAY();
	} else {
		next_level[level](level + 1, room - here);
		__asm__ volatile("nop" ::: "memory");
	}
	pad[1] = 1;
}

static __attribute__((noinline)) void two_calls(unsigned level, size_t room)
{
	uint64_t bits = chance();

	for (unsigned i = 0; i < 1 + bits % 3; i++) {
		place((unsigned)(bits >> (8 + i)), 16 + level);
		if (bits >> i & 4) {
			next_level[level](level + 1, room);
			STAY();
		} else {
			next_level[level](level + 1, room);
			__asm__ volatile("nop" ::: "memory");
		}
	}
}

static __attribute__((noinline)) void leaf(unsigned level, size_t room)
{
	volatile char *pad = alloca(room + 16);

	pad[0] = (char)level;
	for (uint64_t i = 0, count = chance() % 4; i < count; i++)
		place((unsigned)chance(), 100);
	pad[1] = 1;
}

static __attribute__((noinline)) void step_by_step(unsigned deep)
{
	place(0, 32 + deep);
	if (deep < DEPTH)
		step_by_step(deep + 1);
	STAY();
}

static __attribute__((noinline)) void at_once(unsigned levels)
{
	if (levels > 0)
		at_once(levels - 1);
	else
		place(0, 24);
	STAY();
}

/* In threads that have walked nothing yet, whose memory lies side by side. */
static void *deep_ways(void *argument)
{
	for (unsigned levels = 1; levels < DEPTH; levels++) {
		step_by_step(1);
		for (unsigned again = 0; again < 8; again++)
			at_once(levels);
	}
	return argument;
}

int main(int argc, char **argv)
{
	pthread_t threads[THREADS];
	uint64_t rounds = argc > 1 ? strtoull(argv[1], NULL, 10) : 1000;

	for (unsigned i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, deep_ways, NULL) != 0)
			return 1;
	for (unsigned i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	next_level[0] = two_calls;
	next_level[1] = with_room;
	next_level[2] = two_calls;
	next_level[3] = with_room;
	next_level[4] = leaf;
	for (uint64_t i = 0; i < rounds; i++)
		next_level[0](1, 256);
	printf("allocated %llu\n", (unsigned long long)allocated);
	return 0;
}
