/* SPDX-License-Identifier: MIT */
#include "profile/counted.h"

struct seep_profile_counted seep_profile_counted(const struct seep_profile *profile)
{
	const struct seep_profile_totals *totals = &profile->totals;

	if (seep_profile_knows(profile, "counted_allocs"))
		return (struct seep_profile_counted){ totals->counted_allocs,
						      totals->counted_alloc_bytes,
						      totals->counted_frees };
	return (struct seep_profile_counted){ totals->allocs, totals->alloc_bytes, totals->frees };
}
