/* SPDX-License-Identifier: MIT */
/*
 * Which lost block is to blame: lost blocks that point to each other in a circle are one
 * strongly connected component, and a component to which no other one points is a root. Each root
 * has one leader; everything else that is lost goes with one of them.
 */
#ifndef SEEP_SCAN_COMPONENTS_H
#define SEEP_SCAN_COMPONENTS_H

#include "base/arena.h"
#include "scan/scan.h"

enum scan_role {
	SCAN_ROLE_NONE = 0, /* not lost */
	SCAN_ROLE_ROOT,	    /* nothing points to it but itself, or it owns its circle */
	SCAN_ROLE_CYCLE,    /* leads a circle of equals */
	SCAN_ROLE_WITH,	    /* reachable from the leader */
};

/*
 * For each block of @result that is SCAN_LOST its role and its leader's index. In a circle the
 * leader is its owner: the one block of its row where other rows have more, if there is just one
 * such row (the header of a list, say); otherwise the block with the lowest row, then address.
 * Pearce's algorithm, without recursion.
 *
 * @ret_roles, @ret_leaders: @result->block_count of each, in @arena
 */
void scan_components(struct seep_arena *arena, const struct scan_result *result,
		     uint8_t **ret_roles, uint32_t **ret_leaders);

#endif
