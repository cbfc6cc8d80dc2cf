/* SPDX-License-Identifier: MIT */
/*
 * Words that look like pointers to lost blocks and are none: tagged ones, unaligned ones. A hint to
 * the person who reads the verdict; nothing is reached by them.
 */
#ifndef SEEP_SCAN_SCAN_HINTS_H
#define SEEP_SCAN_SCAN_HINTS_H

#include "scan/scan.h"

/*
 * Look once more through roots and reachable blocks, as far as a bound, and note the first hint for
 * each block among @listed, indices of scan->blocks by address, that is SCAN_LOST.
 */
void scan_hints_find(struct scan *scan, const uint32_t *listed, uint64_t count);

#endif
