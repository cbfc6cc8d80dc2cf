/* SPDX-License-Identifier: MIT */
/*
 * What kind of pointer an address is to the block around it: pointers that C++, its library and
 * others keep instead of one to the begin are told by what the block holds there.
 */
#ifndef SEEP_SCAN_SCAN_RULES_H
#define SEEP_SCAN_SCAN_RULES_H

#include "scan/scan.h"

/*
 * The rule by which @address, which is not the begin of @block, points to it. SCAN_RULE_NONE: it
 * does not, it is behind its end. Reads memory by scan->memory.
 */
enum scan_rule scan_rule_of(const struct scan *scan, const struct scan_block *block,
			    uint64_t address);

#endif
