/* SPDX-License-Identifier: MIT */
/* All that was done, exact in every tier. */
#ifndef SEEP_PROFILE_COUNTED_H
#define SEEP_PROFILE_COUNTED_H

#include "profile/profile.h"

struct seep_profile_counted {
	uint64_t allocs;
	uint64_t alloc_bytes;
	uint64_t frees;
};

struct seep_profile_counted seep_profile_counted(const struct seep_profile *profile);

#endif
