/* SPDX-License-Identifier: MIT */
/*
 * million DIRECTORY [STACKS] [ROUNDS] [THREADS] [SHARED]
 *
 * Comes by STACKS call stacks, random paths through many libraries, and allocates a block at each;
 * then by the same again, ROUNDS times in all. With THREADS, each does so; with stacks of its own
 * unless SHARED. DIRECTORY holds the libraries, whose sources gen_million.py writes.
 */
#include "million.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>

#include "stopwatch.h"

enum { PARTS = 50, FUNCTIONS = 60, DEPTH_MIN = 12, DEPTH_SPREAD = 14 };

static walk_visit *everyone[PARTS * FUNCTIONS];

struct thread {
	pthread_t id;
	uint64_t seed;
	struct walk walk;
};

static uint64_t stacks_wanted;
static int rounds;
static pthread_barrier_t barrier;

static int load_parts(const char *directory)
{
	for (unsigned part = 0; part < PARTS; part++) {
		char path[4096];
		char name[32];
		void *library;
		walk_visit *const *visits;

		snprintf(path, sizeof(path), "%s/libpart%02u.so", directory, part);
		snprintf(name, sizeof(name), "part%02u_visits", part);
		library = dlopen(path, RTLD_NOW);
		visits = library ? (walk_visit *const *)dlsym(library, name) : NULL;
		if (!visits) {
			fprintf(stderr, "million: %s\n", dlerror());
			return -1;
		}
		for (unsigned i = 0; i < FUNCTIONS; i++)
			everyone[part * FUNCTIONS + i] = visits[i];
	}
	return 0;
}

static void one_round(struct walk *walk, uint64_t seed)
{
	const uint64_t until = walk->allocs + stacks_wanted;

	for (uint64_t root = 0; walk->allocs < until; root++) {
		const uint64_t next = walk_mix(seed, root);
		const unsigned left = DEPTH_MIN + (unsigned)(walk_mix(next, 7) % DEPTH_SPREAD);

		walk->depth = left + 1;
		walk_next(walk, next)(walk, next, left);
	}
}

static void *thread_main(void *arg)
{
	struct thread *thread = (struct thread *)arg;

	for (int round = 0; round < rounds; round++) {
		one_round(&thread->walk, thread->seed);
		pthread_barrier_wait(&barrier);
		pthread_barrier_wait(&barrier);
	}
	return NULL;
}

static void print_round(const struct thread *threads, unsigned count, const stopwatch *watch,
			uint64_t *before)
{
	uint64_t allocs = 0;
	uint64_t frames = 0;

	for (unsigned i = 0; i < count; i++) {
		allocs += threads[i].walk.allocs;
		frames += threads[i].walk.frames;
	}
	stopwatch_print(watch, (double)(allocs - *before));
	printf("allocs=%llu frames_average=%.1f\n", (unsigned long long)allocs,
	       (double)frames / (double)allocs);
	fflush(stdout);
	*before = allocs;
}

int main(int argc, char **argv)
{
	const unsigned count = argc > 4 ? (unsigned)atoi(argv[4]) : 1;
	const bool shared = argc > 5;
	struct thread *threads = (struct thread *)calloc(count, sizeof(*threads));
	struct stopwatch watch;
	uint64_t before = 0;

	if (argc < 2 || load_parts(argv[1]) < 0)
		return 3;
	stacks_wanted = argc > 2 ? strtoull(argv[2], NULL, 10) : 1000000;
	rounds = argc > 3 ? atoi(argv[3]) : 1;
	pthread_barrier_init(&barrier, NULL, count + 1);
	stopwatch_start(&watch);
	for (unsigned i = 0; i < count; i++) {
		threads[i].seed = shared ? 1 : i + 1;
		threads[i].walk.everyone = everyone;
		threads[i].walk.everyone_count = PARTS * FUNCTIONS;
		if (pthread_create(&threads[i].id, NULL, thread_main, &threads[i]))
			return 3;
	}
	for (int round = 0; round < rounds; round++) {
		pthread_barrier_wait(&barrier);
		print_round(threads, count, &watch, &before);
		stopwatch_start(&watch);
		pthread_barrier_wait(&barrier);
	}
	for (unsigned i = 0; i < count; i++)
		pthread_join(threads[i].id, NULL);
	return 0;
}
