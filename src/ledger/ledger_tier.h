/* SPDX-License-Identifier: MIT */
/* With what probability an allocation is taken in tiers below "exact": docs/internals/tiers.md. */
#ifndef SEEP_LEDGER_TIER_H
#define SEEP_LEDGER_TIER_H

#include <stdint.h>

/* Of sample_log2: where nobody says; no more than that. */
enum { LEDGER_SAMPLE_LOG2 = 19, LEDGER_SAMPLE_LOG2_MAX = 40 };

/*
 * Sampling: d of an allocation of @size bytes, if one is taken of 2^@sample_log2 bytes. It is taken with
 * probability 2^-d, 1 where it is as large. docs/internals/tiers.md.
 */
static inline unsigned ledger_sample_of(uint64_t size, unsigned sample_log2)
{
	const unsigned width = size ? 64 - (unsigned)__builtin_clzll(size) : 1;

	return width < sample_log2 ? sample_log2 - width : 0;
}

#endif
