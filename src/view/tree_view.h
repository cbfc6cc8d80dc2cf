/* SPDX-License-Identifier: MIT */
/*
 * The call tree as rows from top to bottom. A function that is its caller's only callee stands
 * below it without indentation ("→"), so that only real branches move to the right.
 */
#ifndef SEEP_VIEW_TREE_VIEW_H
#define SEEP_VIEW_TREE_VIEW_H

#include "analysis/tree.h"
#include "view/view.h"

struct seep_tree_row {
	uint32_t node; /* of the tree */
	bool figures;  /* they differ from those of the row above */
	char *prefix;  /* "│  ├─ ": the lines of open branches */
};

struct seep_tree_view {
	struct seep_tree *tree; /* without branches below SEEP_TREE_PRUNE_PERCENT */
	struct seep_tree_row *rows;
	size_t count;
};

enum { SEEP_TREE_PRUNE_PERCENT = 1 };

/* Never fails. */
void seep_tree_view_init(struct seep_tree_view *rows, const struct seep_view *view);
void seep_tree_view_done(struct seep_tree_view *rows);

/* What a node stands for that is no function: "(callers unknown)". */
const char *seep_tree_special_words(uint32_t frame);

#endif
