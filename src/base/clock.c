/* SPDX-License-Identifier: MIT */
#include "base/clock.h"

uint64_t seep_clock_ns(clockid_t clock)
{
	struct timespec now = { 0 };

	(void)clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * SEEP_NS_PER_S + (uint64_t)now.tv_nsec;
}

uint64_t seep_monotonic_ns(void)
{
	return seep_clock_ns(CLOCK_MONOTONIC);
}
