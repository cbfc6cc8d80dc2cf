/* SPDX-License-Identifier: MIT */
/*
 * What each call stack has lost: leaks by the hash of their context, so that those of two profiles
 * can be compared. What goes with a leak is a part of it, and belongs to its call stack.
 */
#ifndef SEEP_ANALYSIS_LEAK_SUMS_H
#define SEEP_ANALYSIS_LEAK_SUMS_H

#include "base/idtable.h"
#include "profile/profile.h"

struct seep_leak_sum {
	uint64_t hash;
	const struct seep_profile_leak *leak; /* the largest; NULL: all go with other leaks */
	/* Of what goes with others, the largest's: either may lead in the next run. */
	uint64_t blocks;
	uint64_t bytes;
};

/* Zeroed is empty. */
struct seep_leak_sums {
	struct seep_leak_sum *items; /* in the order of the profile's leaks */
	size_t count;
	struct seep_idtable ids;
};

/* @profile has to outlive it. Leaks without a hash, whose call stack is not here, are left out. */
void seep_leak_sums_init(struct seep_leak_sums *sums, const struct seep_profile *profile);
void seep_leak_sums_done(struct seep_leak_sums *sums);

/* NULL: nothing was lost by call stacks of this hash. */
const struct seep_leak_sum *seep_leak_sums_find(const struct seep_leak_sums *sums, uint64_t hash);

/* The leak that @leak is a part of, itself most often; NULL: it does not count as one. */
const struct seep_profile_leak *seep_leak_root(const struct seep_profile *profile,
					       const struct seep_profile_leak *leak);

#endif
