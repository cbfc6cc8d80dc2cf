/* SPDX-License-Identifier: MIT */
/* What of a ledger's counts and sizes is believed: the one rule, for who loads and who samples. */
#ifndef SEEP_PROFILE_LEDGER_FIGURE_H
#define SEEP_PROFILE_LEDGER_FIGURE_H

#include "ledger/ledger.h"
#include "profile/profile.h"

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

/*
 * What a ledger says of forked children that were small, and have left no ledger: as the words are
 * now; what no program reaches counts as 0. docs/internals/ledger.md, "Fork".
 */
struct seep_profile_forked seep_forked_load(const struct ledger_sums *from);

/* Add figure by figure. */
void seep_forked_add(struct seep_profile_forked *to, const struct seep_profile_forked *from);

#endif
