/* SPDX-License-Identifier: MIT */
/*
 * Common parts of the programs growth_*: plays of services whose memory grows, or only looks so.
 *
 *   growth_NAME UNIT_MS SEED [UNITS]
 *
 * UNIT_MS is how many real milliseconds a simulated second lasts, UNITS (300) how many of them the
 * program runs, SEED picks one of the runs: rates, noise and phases differ, what is true does not.
 * A simulated second has GROWTH_TICKS ticks, each at its absolute time: who is late catches up.
 *
 * At the end, with all that is live still live, each function that allocates gets one line,
 * "GROWING name bytes" or "STEADY name bytes" (live bytes, as they were asked for). A simulated
 * second later the program frees what it can still reach. Nothing here allocates.
 */
#ifndef TESTS_PROGRAMS_GROWTH_H
#define TESTS_PROGRAMS_GROWTH_H

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { GROWTH_TICKS = 10, GROWTH_WHEEL = 1024 };

/* A function that allocates is a call stack of its own: never inlined, cloned or merged. */
#ifdef __clang__
#define GROWTH_FN __attribute__((noinline, optnone, used))
#else
#define GROWTH_FN __attribute__((noipa, used))
#endif

struct growth_site {
	const char *verdict;
	const char *name;
	long long live_bytes; /* changed with relaxed atomic adds by any thread */
};

/* Declares what is true of the function @fn: GROWING or STEADY. */
#define GROWTH_SITE(verdict, fn)                                    \
	static struct growth_site site_##fn = { #verdict, #fn, 0 }; \
	static struct growth_site *const site_entry_##fn            \
		__attribute__((used, section("growth_"              \
					     "sites"))) = &site_##fn

#ifdef __cplusplus
extern "C" {
#endif
extern struct growth_site *const __start_growth_sites[];
extern struct growth_site *const __stop_growth_sites[];
#ifdef __cplusplus
}
#endif

static long growth_unit_ns;
static long growth_units = 300;
static uint64_t growth_seed;
static struct timespec growth_began;

/* ---- chance -------------------------------------------------------------------------------- */

static inline uint32_t growth_random(uint64_t *state)
{
	uint64_t x = *state;

	x ^= x >> 12;
	x ^= x << 25;
	x ^= x >> 27;
	*state = x;
	return (uint32_t)((x * 0x2545f4914f6cdd1dULL) >> 32);
}

/* The generator number @stream of this run; each thread has one of its own. */
static inline uint64_t growth_stream(unsigned stream)
{
	uint64_t x = growth_seed * 0x9e3779b97f4a7c15ULL + stream * 0xd1342543de82ef95ULL + 1;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ULL;
	x = (x ^ x >> 27) * 0x94d049bb133111ebULL;
	x ^= x >> 31;
	return x ? x : 1;
}

static inline double growth_uniform(uint64_t *state, double low, double high)
{
	return low + (high - low) * (growth_random(state) / 4294967296.0);
}

/* A whole number from @low to @high, both included. */
static inline long growth_between(uint64_t *state, long low, long high)
{
	return low + (long)((uint64_t)growth_random(state) * (uint64_t)(high - low + 1) >> 32);
}

static inline int growth_chance(uint64_t *state, double probability)
{
	return growth_uniform(state, 0, 1) < probability;
}

/* How many of many independent clients come, @mean on average. */
static inline long growth_arrivals(uint64_t *state, double mean)
{
	long clients = (long)(4 * mean) + 4, come = 0, i;

	for (i = 0; i < clients; i++)
		come += growth_chance(state, mean / (double)clients);
	return come;
}

/* From @low to @high bytes, as often between 100 and 200 as between 1000 and 2000. */
static inline size_t growth_size(uint64_t *state, size_t low, size_t high)
{
	size_t octaves = 0, size;

	while (low << (octaves + 1) <= high)
		octaves++;
	size = low << growth_between(state, 0, (long)octaves);
	size += (size_t)growth_between(state, 0, (long)size);
	return size < high ? size : high;
}

/* One step of a noise around 1 that forgets in about 1 / (1 - @keep) steps; never below 0.05. */
static inline double growth_noise(uint64_t *state, double *level, double keep, double step)
{
	*level = 1 + (*level - 1) * keep + growth_uniform(state, -step, step);
	if (*level < 0.05)
		*level = 0.05;
	return *level;
}

/* Nearly a sine, from -1 to 1; @phase from 0 to 1. */
static inline double growth_wave(double now, double period, double phase)
{
	double x = now / period + phase;

	x -= (double)(long)x;
	return x < 0.5 ? 16 * x * (0.5 - x) : -16 * (x - 0.5) * (1 - x);
}

/* ---- time ---------------------------------------------------------------------------------- */

struct growth_clock {
	long tick;
};

/* Returns: 0, or -1 after a line about the usage. */
static inline int growth_start(int argc, char **argv)
{
	double unit_ms = argc > 2 ? strtod(argv[1], NULL) : 0;

	if (argc > 2)
		growth_seed = strtoull(argv[2], NULL, 10);
	if (argc > 3)
		growth_units = strtol(argv[3], NULL, 10);
	if (unit_ms <= 0 || growth_units <= 0) {
		(void)fprintf(stderr, "usage: %s UNIT_MS SEED [UNITS]\n", argc ? argv[0] : "?");
		return -1;
	}
	growth_unit_ns = (long)(unit_ms * 1e6);
	(void)clock_gettime(CLOCK_MONOTONIC, &growth_began);
	return 0;
}

static inline void growth_until(long tick)
{
	long long ns = (long long)growth_unit_ns * tick / GROWTH_TICKS + growth_began.tv_nsec;
	struct timespec at = growth_began;

	at.tv_sec += (time_t)(ns / 1000000000);
	at.tv_nsec = (long)(ns % 1000000000);
	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL) == EINTR)
		;
}

/* Wait for the next tick. Returns: 0 when the run is over. */
static inline int growth_tick(struct growth_clock *clock)
{
	if (clock->tick >= growth_units * GROWTH_TICKS)
		return 0;
	growth_until(++clock->tick);
	return 1;
}

/* In simulated seconds. */
static inline double growth_now(const struct growth_clock *clock)
{
	return (double)clock->tick / (double)GROWTH_TICKS;
}

static inline long growth_ticks(double seconds)
{
	return (long)(seconds * (double)GROWTH_TICKS);
}

/* ---- truth --------------------------------------------------------------------------------- */

/* @block came from the function of @site; also keeps the compiler from leaving it out. */
static inline void growth_live(struct growth_site *site, void *block, size_t bytes)
{
	if (!block)
		abort();
	__asm__ volatile("" : : "r"(block) : "memory");
	__atomic_fetch_add(&site->live_bytes, (long long)bytes, __ATOMIC_RELAXED);
}

static inline void growth_gone(struct growth_site *site, size_t bytes)
{
	__atomic_fetch_sub(&site->live_bytes, (long long)bytes, __ATOMIC_RELAXED);
}

static inline void growth_free(struct growth_site *site, void *block, size_t bytes)
{
	growth_gone(site, bytes);
	free(block);
}

static inline long long growth_bytes(const struct growth_site *site)
{
	return __atomic_load_n(&site->live_bytes, __ATOMIC_RELAXED);
}

/* Forget the last pointer to a block, as the compiler cannot see: a leak. */
static inline void growth_forget(void *block)
{
	__asm__ volatile("" : : "r"(block) : "memory");
}

/* The run is over: say what is true, and leave a simulated second for looking at it. */
static inline void growth_end(void)
{
	struct growth_site *const *entry;
	char text[4096];
	size_t used = 0, done = 0;

	for (entry = __start_growth_sites; entry < __stop_growth_sites; entry++)
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s %s %lld\n",
					 (*entry)->verdict, (*entry)->name, growth_bytes(*entry));
	while (done < used) {
		ssize_t n = write(STDOUT_FILENO, text + done, used - done);

		if (n < 0 && errno != EINTR)
			break;
		done += n > 0 ? (size_t)n : 0;
	}
	growth_until((growth_units + 1) * GROWTH_TICKS);
}

/* ---- blocks with a time to be freed -------------------------------------------------------- */

/* Stands at the beginning of a block. */
struct growth_item {
	struct growth_item *next;
	size_t bytes;
};

/* Declares what is true of the function @fn, and defines it: fn(bytes) gives a block. */
#define GROWTH_MAKER(verdict, fn)                                               \
	GROWTH_SITE(verdict, fn);                                               \
	static GROWTH_FN struct growth_item *fn(size_t bytes)                   \
	{                                                                       \
		struct growth_item *item = (struct growth_item *)malloc(bytes); \
                                                                                \
		growth_live(&site_##fn, item, bytes);                           \
		item->bytes = bytes;                                            \
		return item;                                                    \
	}                                                                       \
	static GROWTH_FN struct growth_item *fn(size_t bytes)

/* All blocks of one function, in one thread, by the tick at which they are freed. */
struct growth_wheel {
	struct growth_item *due[GROWTH_WHEEL];
};

/* Free @block in @ticks ticks, from 1 to GROWTH_WHEEL - 1. */
static inline void growth_later(struct growth_wheel *wheel, const struct growth_clock *clock,
				void *block, size_t bytes, long ticks)
{
	struct growth_item *item = (struct growth_item *)block;
	struct growth_item **due;

	ticks = ticks < 1 ? 1 : ticks >= GROWTH_WHEEL ? GROWTH_WHEEL - 1 : ticks;
	due = &wheel->due[(clock->tick + ticks) % GROWTH_WHEEL];
	item->bytes = bytes;
	item->next = *due;
	*due = item;
}

/* Free the blocks of one list. */
static inline void growth_free_list(struct growth_item **list, struct growth_site *site)
{
	while (*list) {
		struct growth_item *item = *list;

		*list = item->next;
		growth_free(site, item, item->bytes);
	}
}

/* Free what is due; once per tick. */
static inline void growth_expire(struct growth_wheel *wheel, const struct growth_clock *clock,
				 struct growth_site *site)
{
	growth_free_list(&wheel->due[clock->tick % GROWTH_WHEEL], site);
}

static inline void growth_drain(struct growth_wheel *wheel, struct growth_site *site)
{
	int i;

	for (i = 0; i < GROWTH_WHEEL; i++)
		growth_free_list(&wheel->due[i], site);
}

#endif
