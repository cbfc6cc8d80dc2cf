/* SPDX-License-Identifier: MIT */
/*
 * The marker: from what is reached to what that points to, with a list of blocks instead of
 * recursion.
 */
#ifndef SEEP_SCAN_SCAN_MARK_H
#define SEEP_SCAN_SCAN_MARK_H

#include "scan/scan_look.h"

/*
 * What is marked from here on gets this @state and @root; unless it is SCAN_REACHABLE, weak
 * pointers count.
 */
struct scan_look scan_mark_begin(struct scan *scan, enum scan_state state, uint8_t root);

/*
 * Mark @block, which begins at @address and has no state, and remember it for scan_mark_follow().
 */
void scan_mark_block(struct scan_look *look, uint32_t block, uint64_t address, uint8_t rule,
		     uint64_t from);

/* Mark all that can be reached from what was marked. */
void scan_mark_follow(struct scan_look *look);

#endif
