/* SPDX-License-Identifier: MIT */
/*
 * The call tree, top down: who called whom on the way to each allocation, with sums on every node.
 * Calls from different lines of one function share a node. What comes before main or a thread's
 * function is left out, except where a stack has nothing else.
 */
#ifndef SEEP_ANALYSIS_TREE_H
#define SEEP_ANALYSIS_TREE_H

#include "analysis/counts.h"
#include "analysis/sites.h"

/* Nodes under the root that are not functions, in place of a frame. */
enum {
	SEEP_TREE_ROOT = UINT32_MAX,
	SEEP_TREE_NO_STACK = UINT32_MAX - 1,  /* allocated while no walk was possible */
	SEEP_TREE_OTHER = UINT32_MAX - 2,     /* met after the ledger was full */
	SEEP_TREE_TRUNCATED = UINT32_MAX - 3, /* stacks whose outermost frames are unknown */
	SEEP_TREE_CUT = UINT32_MAX - 4,	      /* stacks whose outermost frames were not stored */
	SEEP_TREE_SPECIAL = UINT32_MAX - 15,  /* this and above are not frames */
};

struct seep_tree_node {
	/* One frame of the function, or SEEP_TREE_*; with the deepest recursion folded here. */
	struct seep_profile_stack_entry entry;
	uint32_t first_child; /* node index, 0 = none; the largest */
	uint32_t next;	      /* sibling, 0 = last */
	bool several_lines;   /* called from (or allocated at) more than the frame's line */
	int64_t value;	      /* of all stacks through here, in the measure */
	double square;	      /* of its error */
};

struct seep_tree {
	struct seep_tree_node *nodes; /* [0] is the root */
	uint32_t count;
	uint32_t pruned_count; /* branches that were too small, */
	int64_t pruned_value;  /* and what they have together */
};

/**
 * seep_tree_new - build the tree
 * @whole:   with the plumbing at the inner ends and recursion as the ledger has it; else stacks end
 *           at the function to blame and recursion is folded by function
 * @measure: what decides about a node's size
 * @least:   nodes with less of it are left out, with all below them; nodes with none always are
 *
 * Time is linear in the frames of the stacks, those below left-out nodes not counted; memory in
 * the contexts and the nodes that stay. Never fails.
 */
struct seep_tree *seep_tree_new(const struct seep_sites *sites, bool whole,
				enum seep_measure measure, int64_t least);

/* NULL is a no-op. */
void seep_tree_free(struct seep_tree *tree);

#endif
