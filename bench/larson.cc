/* SPDX-License-Identifier: MIT */
/*
 * larson [--sized] [THREADS [OPERATIONS [BLOCKS]]]
 *
 * A server's memory over time, after Larson and Krishnan, "Memory allocation for long-running
 * server applications", 1998: every thread replaces random ones of its blocks of 8 to 1,000 bytes;
 * after a tenth of its operations it ends and leaves them, and the rest of its work, to a new
 * thread. With --sized the size is given to operator delete.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <new>
#include <vector>

#include "random.h"
#include "stopwatch.h"

enum { THREADS_MAX = 256, LIVES = 10, SMALLEST = 8, LARGEST = 1000 };

struct block {
	char *start;
	size_t size;
};

struct place {
	std::vector<block> blocks;
	uint64_t state;
	long operations;
	int lives;
};

static bool is_sized;
static pthread_barrier_t done;

__attribute__((noinline)) static void allocate(block &b, uint64_t &state)
{
	b.size = SMALLEST + random_next(&state) % (LARGEST - SMALLEST + 1);
	b.start = static_cast<char *>(::operator new(b.size));
	b.start[0] = b.start[b.size - 1] = 1;
}

__attribute__((noinline)) static void release(block &b)
{
	if (is_sized)
		::operator delete(b.start, b.size);
	else
		::operator delete(b.start);
}

static void *live(void *arg)
{
	place &p = *static_cast<place *>(arg);
	pthread_t next;

	for (long i = 0; i < p.operations / LIVES; i++) {
		block &b = p.blocks[random_next(&p.state) % p.blocks.size()];

		release(b);
		allocate(b, p.state);
	}
	if (--p.lives == 0)
		pthread_barrier_wait(&done);
	else if (pthread_create(&next, nullptr, live, &p) || pthread_detach(next))
		abort();
	return nullptr;
}

/* The first thread of a place fills it, so that the memory is its own. */
static void *fill(void *arg)
{
	place &p = *static_cast<place *>(arg);

	for (block &b : p.blocks)
		allocate(b, p.state);
	pthread_barrier_wait(&done);
	return live(arg);
}

int main(int argc, char **argv)
{
	stopwatch watch;

	if (argc > 1 && strcmp(argv[1], "--sized") == 0) {
		is_sized = true;
		argc--;
		argv++;
	}
	int threads = argc > 1 ? atoi(argv[1]) : 8;
	long operations = argc > 2 ? strtol(argv[2], nullptr, 10) : 1000000;
	long blocks = argc > 3 ? strtol(argv[3], nullptr, 10) : 5000;
	if (threads < 1 || threads > THREADS_MAX || blocks < 1)
		return 2;
	pthread_barrier_init(&done, nullptr, static_cast<unsigned>(threads) + 1);
	std::vector<place> places(static_cast<size_t>(threads));
	for (int i = 0; i < threads; i++) {
		pthread_t thread;

		places[i].blocks.resize(static_cast<size_t>(blocks));
		places[i].state = random_seed(static_cast<uint64_t>(i));
		places[i].operations = operations;
		places[i].lives = LIVES;
		if (pthread_create(&thread, nullptr, fill, &places[i]) || pthread_detach(thread))
			return 3;
	}
	pthread_barrier_wait(&done);
	stopwatch_start(&watch);
	pthread_barrier_wait(&done);
	stopwatch_print(&watch, static_cast<double>(threads) * static_cast<double>(operations));
	for (place &p : places)
		for (block &b : p.blocks)
			release(b);
	return 0;
}
