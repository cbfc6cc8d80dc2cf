/* SPDX-License-Identifier: MIT */
/*
 * Whether the figures of a profile agree with each other. Loaders of ledgers see to it that they
 * do, by leaving out or lifting what cannot be; what comes from elsewhere is checked.
 */
#ifndef SEEP_PROFILE_PROFILE_CHECK_H
#define SEEP_PROFILE_PROFILE_CHECK_H

#include "base/error.h"

#include <stdbool.h>

struct seep_profile;
struct seep_profile_totals;

/* Set those of @totals that are sums of contexts' figures. False where they do not fit. */
bool seep_profile_sum(const struct seep_profile *profile, struct seep_profile_totals *totals);

/**
 * seep_profile_check - look for contradictions
 *
 * Of every context: what is alive is what was allocated less what was freed, the peak's share and
 * the temporary ones are no more than was allocated, and the epochs, if there are any, sum to what
 * is alive. The totals are the sums of the contexts. Samples do not go back in time. Leaks
 * and findings name contexts that are there, leaks roots that are there and name none themselves,
 * and their figures can be summed.
 *
 * Returns: 0, or -SEEP_ECORRUPT.
 */
SEEP_NODISCARD int seep_profile_check(const struct seep_profile *profile, struct seep_error *err);

#endif
