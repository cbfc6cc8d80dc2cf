/* SPDX-License-Identifier: MIT */
/* The pointers that lead to blocks: why they are not lost, or how they hold each other. */
#ifndef SEEP_RECORDER_LEAK_CHAINS_H
#define SEEP_RECORDER_LEAK_CHAINS_H

#include "profile/profile.h"
#include "symbol/symbol.h"
#include "target/leak_scan.h"

#include <stdint.h>

/*
 * Add to each leak the pointers that lead to its first block, of a cycle the circle back to that
 * block; or to the one leak with the block at @address, unless that is 0, which it lists first
 * then. @scan kept chains. @symbols: where names of variables are looked for; NULL: the default
 */
void seep_leak_chains_add(struct seep_profile *profile, const struct seep_leak_scan *scan,
			  const struct seep_symbols_options *symbols, uint64_t address);

#endif
