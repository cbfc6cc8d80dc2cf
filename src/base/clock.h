/* SPDX-License-Identifier: MIT */
/* The system's clocks in nanoseconds. */
#ifndef SEEP_BASE_CLOCK_H
#define SEEP_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

#define SEEP_NS_PER_US 1000ull
#define SEEP_NS_PER_MS 1000000ull
#define SEEP_NS_PER_S 1000000000ull

/* CLOCK_REALTIME, CLOCK_THREAD_CPUTIME_ID, ...; 0 for one that is not there. */
static inline uint64_t seep_clock_ns(clockid_t clock)
{
	struct timespec now = { 0 };

	(void)clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * SEEP_NS_PER_S + (uint64_t)now.tv_nsec;
}

/* CLOCK_MONOTONIC, which ledgers, timelines and waits are by. */
static inline uint64_t seep_monotonic_ns(void)
{
	return seep_clock_ns(CLOCK_MONOTONIC);
}

#endif
