/* SPDX-License-Identifier: MIT */
/* Small freestanding helpers: branch hints, integer logarithms, the hash step. */
#ifndef SEEP_CORE_BITS_H
#define SEEP_CORE_BITS_H

#include <stdint.h>

#define CORE_LIKELY(x) __builtin_expect(!!(x), 1)
#define CORE_UNLIKELY(x) __builtin_expect(!!(x), 0)

static inline uint64_t core_smaller(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static inline uint64_t core_larger(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* A sum that stops at the largest number. */
static inline void core_add(uint64_t *sum, uint64_t more)
{
	if (__builtin_add_overflow(*sum, more, sum))
		*sum = UINT64_MAX;
}

/* Number of significant bits: 0 for 0, 1 for 1, 64 for 2^63 and more. */
static inline unsigned core_bit_width(uint64_t x)
{
	return x ? 64u - (unsigned)__builtin_clzll(x) : 0u;
}

/* The same for an x below 2^63, without a branch. */
static inline unsigned core_bit_width_below(uint64_t x)
{
	return 63u ^ (unsigned)__builtin_clzll(2 * x + 1);
}

/*
 * One step of a cumulative hash: bijective in @word for a fixed @hash, so that two sequences that
 * differ in one place only never collide there. Multiplier: the golden ratio (Fibonacci hashing,
 * Knuth, TAOCP 6.4).
 */
static inline uint64_t core_hash_step(uint64_t hash, uint64_t word)
{
	uint64_t x = (hash ^ word) * 0x9e3779b97f4a7c15ull;

	return x ^ (x >> 32);
}

#endif
