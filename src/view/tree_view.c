/* SPDX-License-Identifier: MIT */
#include "view/tree_view.h"

#include <stdlib.h>

#include "base/xalloc.h"

enum {
	PREFIX_COLUMNS_MAX = 30, /* what is deeper loses the outer branches' lines */
	DEPTH_MAX = 4096,	 /* branches in branches; a bound on recursion only */
};

struct builder {
	struct seep_tree_view *view;
	struct seep_strbuf open; /* the lines of open branches */
	uint32_t depth;
};

const char *seep_tree_special_words(uint32_t frame)
{
	switch (frame) {
	case SEEP_TREE_NO_STACK:
		return "(no stack)";
	case SEEP_TREE_OTHER:
		return "(stacks met after the ledger was full)";
	case SEEP_TREE_TRUNCATED:
		return "(callers unknown)";
	default:
		return "(callers not stored)";
	}
}

static void add_row(struct builder *b, uint32_t node, const char *joint, bool figures)
{
	SEEP_STRBUF(prefix, SEEP_LINE_BYTES_MAX);

	seep_text_fit(&prefix, b->open.text, PREFIX_COLUMNS_MAX, true);
	seep_strbuf_adds(&prefix, joint);
	*SEEP_APPEND(b->view->rows, b->view->count) = (struct seep_tree_row){
		.node = node,
		.figures = figures,
		.prefix = seep_strbuf_take(&prefix),
	};
}

static void add_children(struct builder *b, uint32_t node);

/* Add @node and, below it without indentation, its only descendants up to the next branching. */
static void add_branch(struct builder *b, uint32_t node, const char *joint, const char *open)
{
	const struct seep_tree_node *nodes = b->view->tree->nodes;
	const size_t before = b->open.length;
	uint32_t only;

	add_row(b, node, joint, true);
	seep_strbuf_adds(&b->open, open);
	while ((only = nodes[node].first_child) != 0 && nodes[only].next == 0) {
		add_row(b, only, "→ ", nodes[only].value != nodes[node].value);
		node = only;
	}
	add_children(b, node);
	seep_strbuf_cut(&b->open, before);
}

static void add_children(struct builder *b, uint32_t node)
{
	const struct seep_tree_node *nodes = b->view->tree->nodes;

	if (b->depth >= DEPTH_MAX)
		return;
	b->depth++;
	for (uint32_t i = nodes[node].first_child; i != 0; i = nodes[i].next) {
		const bool last = nodes[i].next == 0;

		if (node == 0)
			add_branch(b, i, "", "");
		else
			add_branch(b, i, last ? "└─ " : "├─ ", last ? "   " : "│  ");
	}
	b->depth--;
}

void seep_tree_view_init(struct seep_tree_view *rows, const struct seep_view *view)
{
	struct builder b = { .view = rows };

	*rows = (struct seep_tree_view){
		.tree = seep_tree_new(view->sites, view->options->full, view->measure,
				      view->total / 100 * SEEP_TREE_PRUNE_PERCENT),
	};
	b.open = seep_strbuf_of(SEEP_LINE_BYTES_MAX);
	add_children(&b, 0);
	seep_strbuf_done(&b.open);
}

void seep_tree_view_done(struct seep_tree_view *rows)
{
	for (size_t i = 0; i < rows->count; i++)
		free(rows->rows[i].prefix);
	free(rows->rows);
	seep_tree_free(rows->tree);
}
