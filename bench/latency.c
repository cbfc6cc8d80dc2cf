/* SPDX-License-Identifier: MIT */
/*
 * latency [PAIRS]
 *
 * How long does one free() with the malloc() that follows it take, at the median and at the tail?
 * 10,000 blocks live, sizes mixed, eight depths of stack. The clock's own cost is taken off.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <x86intrin.h>

#include "random.h"
#include "stopwatch.h"

enum { LIVE = 10000, DEPTHS = 8 };

static void *live[LIVE];
static uint32_t *ticks;

__attribute__((noinline)) static uint32_t replace(void **slot, uint32_t size, uint32_t levels)
{
	unsigned long long before;
	unsigned int core;

	if (levels > 0) {
		uint32_t took = replace(slot, size, levels - 1);

		__asm__ volatile("" : "+r"(took));
		return took;
	}
	before = __rdtscp(&core);
	free(*slot);
	*slot = malloc(size);
	return (uint32_t)(__rdtscp(&core) - before);
}

static void run(long pairs)
{
	uint64_t state = random_seed(0);

	for (long i = 0; i < pairs; i++) {
		uint32_t dice = random_next(&state);

		ticks[i] = replace(&live[dice % LIVE], random_size(&state), (dice >> 16) % DEPTHS);
	}
}

static uint32_t clock_ticks(void)
{
	uint32_t least = UINT32_MAX;
	unsigned int core;

	for (int i = 0; i < 10000; i++) {
		unsigned long long before = __rdtscp(&core);
		uint32_t took = (uint32_t)(__rdtscp(&core) - before);

		least = took < least ? took : least;
	}
	return least;
}

static int compare(const void *a, const void *b)
{
	uint32_t one = *(const uint32_t *)a, other = *(const uint32_t *)b;

	return (one > other) - (one < other);
}

static double nanoseconds(long pairs, double share, double ns_per_tick, uint32_t clock)
{
	uint32_t value = ticks[(long)(share * (double)(pairs - 1))];

	return value > clock ? (value - clock) * ns_per_tick : 0;
}

int main(int argc, char **argv)
{
	long pairs = argc > 1 ? strtol(argv[1], NULL, 10) : 2000000;
	unsigned long long start;
	struct stopwatch watch;
	double ns_per_tick;

	ticks = mmap(NULL, (size_t)pairs * sizeof(*ticks), PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (pairs < 1 || ticks == MAP_FAILED)
		return 2;
	/* The first time is filling up, and every path's first walk. */
	run(pairs < 100000 ? pairs : 100000);
	start = __rdtsc();
	stopwatch_start(&watch);
	run(pairs);
	ns_per_tick = (double)(stopwatch_wall_ns() - watch.wall_ns) / (double)(__rdtsc() - start);
	stopwatch_print(&watch, (double)pairs);
	qsort(ticks, (size_t)pairs, sizeof(*ticks), compare);
	for (int i = 0; i < 4; i++) {
		static const double share[] = { 0.5, 0.99, 0.999, 0.9999 };
		static const char *const name[] = { "p50", "p99", "p999", "p9999" };

		printf("%s_ns=%.1f\n", name[i],
		       nanoseconds(pairs, share[i], ns_per_tick, clock_ticks()));
	}
	return 0;
}
