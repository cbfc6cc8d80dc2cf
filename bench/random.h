/* SPDX-License-Identifier: MIT */
/* The same unforeseeable order in every run and in every variant: Marsaglia's xorshift. */
#ifndef SEEP_BENCH_RANDOM_H
#define SEEP_BENCH_RANDOM_H

#include <stdint.h>

static inline uint32_t random_next(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return (uint32_t)(*state >> 20);
}

/* One of a stream per @number, never 0. */
static inline uint64_t random_seed(uint64_t number)
{
	return 88172645463325252ull + number * 0x9e3779b97f4a7c15ull;
}

/* A size as programs ask for them: mostly small, one in sixteen up to 4 KB. */
static inline uint32_t random_size(uint64_t *state)
{
	uint32_t dice = random_next(state);

	return dice % 16 ? 8 + (dice >> 4) % 120 : 128 + (dice >> 4) % 3968;
}

#endif
