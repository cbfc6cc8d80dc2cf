/* SPDX-License-Identifier: MIT */
/* What of a ledger's counts and sizes is believed: the one rule, for who loads and who samples. */
#ifndef SEEP_PROFILE_LEDGER_FIGURE_H
#define SEEP_PROFILE_LEDGER_FIGURE_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Add @value to @sum, which begins at 0. False where that is more than any program reaches: it was
 * written over, and nothing is added.
 */
static inline bool seep_ledger_add(uint64_t *sum, uint64_t value)
{
	if (value > INT64_MAX || *sum > INT64_MAX - value)
		return false;
	*sum += value;
	return true;
}

#endif
