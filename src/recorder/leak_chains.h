/* SPDX-License-Identifier: MIT */
/* Why blocks are not lost: the pointers that lead to them, named for people. */
#ifndef SEEP_RECORDER_LEAK_CHAINS_H
#define SEEP_RECORDER_LEAK_CHAINS_H

#include "profile/profile.h"
#include "target/leak_scan.h"

#include <stdint.h>

/*
 * Fill in the chains of @profile's leaks, which @scan found: of the first block of each, or of the block
 * at @address, unless that is 0, which its leak lists first then. The scan kept chains.
 */
void seep_leak_chains_add(struct seep_profile *profile, const struct seep_leak_scan *scan,
			  uint64_t address);

#endif
