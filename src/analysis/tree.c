/* SPDX-License-Identifier: MIT */
/*
 * Stacks are entered from the outermost frame inwards. Neighbouring contexts share most of their
 * outer frames, so each starts from the path of the one before and looks up only what differs.
 * Figures are added at the ends and summed upwards once: a parent's index is below its children's.
 */
#include "analysis/tree.h"

#include <stdlib.h>

#include "analysis/idtable.h"
#include "analysis/rank.h"
#include "base/xalloc.h"

struct builder {
	const struct seep_sites *sites;
	bool whole;
	struct seep_tree *tree;
	size_t capacity;
	struct seep_idtable children; /* by hash of (parent, function) */
	uint32_t *keys;		      /* per node: function number, or SEEP_TREE_* */
	size_t key_capacity;
	uint32_t *path; /* nodes of the last stack, outermost first, after the root */
	uint32_t *path_keys;
	uint32_t path_count;
	size_t path_capacity;
	size_t path_key_capacity;
};

static uint32_t add_node(struct builder *b, uint32_t parent, uint32_t key, uint32_t frame)
{
	struct seep_tree *tree = b->tree;
	const uint32_t id = tree->count++;

	tree->nodes = seep_xgrow(tree->nodes, &b->capacity, tree->count, sizeof(*tree->nodes));
	b->keys = seep_xgrow(b->keys, &b->key_capacity, tree->count, sizeof(*b->keys));
	tree->nodes[id] = (struct seep_tree_node){ .frame = frame, .parent = parent };
	b->keys[id] = key;
	if (id != 0) {
		tree->nodes[id].next = tree->nodes[parent].first_child;
		tree->nodes[parent].first_child = id;
	}
	return id;
}

static uint32_t child_of(struct builder *b, uint32_t parent, uint32_t key, uint32_t frame)
{
	const uint64_t hash = seep_hash_mix(parent, key);
	size_t at = SEEP_IDTABLE_START;
	uint32_t id;

	while ((id = seep_idtable_find(&b->children, hash, &at)) != SEEP_IDTABLE_NONE)
		if (b->tree->nodes[id].parent == parent && b->keys[id] == key)
			return id;
	id = add_node(b, parent, key, frame);
	seep_idtable_add(&b->children, hash, id);
	return id;
}

/* Step from @parent to its child, which is the path's @depth-th node. */
static uint32_t step(struct builder *b, uint32_t parent, uint32_t depth, uint32_t key,
		     uint32_t frame)
{
	uint32_t node;

	if (depth < b->path_count && b->path_keys[depth] == key)
		return b->path[depth];
	node = child_of(b, parent, key, frame);
	b->path = seep_xgrow(b->path, &b->path_capacity, (size_t)depth + 1, sizeof(*b->path));
	b->path_keys = seep_xgrow(b->path_keys, &b->path_key_capacity, (size_t)depth + 1,
				  sizeof(*b->path_keys));
	b->path[depth] = node;
	b->path_keys[depth] = key;
	b->path_count = depth + 1;
	return node;
}

static void note_entry(struct builder *b, uint32_t node,
		       const struct seep_profile_stack_entry *entry)
{
	struct seep_tree_node *n = &b->tree->nodes[node];

	if (b->sites->of_frame[n->frame].line != b->sites->of_frame[entry->frame].line)
		n->several_lines = true;
	if (entry->period > 0) {
		n->period = entry->period;
		if (entry->repeats > n->repeats)
			n->repeats = entry->repeats;
	}
}

static uint32_t special_of(const struct seep_profile_context *context)
{
	if (context->no_stack)
		return SEEP_TREE_NO_STACK;
	if (context->other)
		return SEEP_TREE_OTHER;
	if (context->truncated)
		return SEEP_TREE_TRUNCATED;
	if (context->cut)
		return SEEP_TREE_CUT;
	return context->stack_count == 0 ? SEEP_TREE_NO_STACK : SEEP_TREE_ROOT;
}

static void enter_context(struct builder *b, const struct seep_profile_context *context)
{
	const uint32_t special = special_of(context);
	uint32_t node = 0;
	uint32_t depth = 0;
	uint32_t first;
	uint32_t end;

	if (special != SEEP_TREE_ROOT)
		node = step(b, node, depth++, special, special);
	seep_sites_trim(b->sites, context, &first, &end);
	if (b->whole)
		first = 0;
	for (uint32_t i = end; i-- > first;) {
		const struct seep_profile_stack_entry *entry = &context->stack[i];

		node = step(b, node, depth++, b->sites->of_frame[entry->frame].function,
			    entry->frame);
		note_entry(b, node, entry);
	}
	if (depth < b->path_count)
		b->path_count = depth;
	seep_counts_add_context(&b->tree->nodes[node].self, context);
}

static void sum_upwards(struct seep_tree *tree)
{
	for (uint32_t i = tree->count; i-- > 0;) {
		struct seep_tree_node *node = &tree->nodes[i];

		seep_counts_add(&node->inclusive, &node->self);
		if (i > 0)
			seep_counts_add(&tree->nodes[node->parent].inclusive, &node->inclusive);
	}
}

struct seep_tree *seep_tree_new(const struct seep_sites *sites, bool whole)
{
	const struct seep_profile *profile = sites->profile;
	struct builder b = {
		.sites = sites,
		.whole = whole,
		.tree = seep_xcalloc(1, sizeof(struct seep_tree)),
	};

	seep_idtable_init(&b.children, profile->context_count);
	add_node(&b, 0, SEEP_TREE_ROOT, SEEP_TREE_ROOT);
	for (uint32_t i = 0; i < profile->context_count; i++)
		enter_context(&b, &profile->contexts[i]);
	sum_upwards(b.tree);
	seep_idtable_done(&b.children);
	free(b.keys);
	free(b.path);
	free(b.path_keys);
	return b.tree;
}

void seep_tree_free(struct seep_tree *tree)
{
	if (tree == NULL)
		return;
	free(tree->nodes);
	free(tree);
}

uint32_t seep_tree_children(const struct seep_tree *tree, uint32_t node, enum seep_measure measure,
			    uint64_t least, uint32_t **ret_children)
{
	struct seep_ranked *ranked = NULL;
	size_t capacity = 0;
	size_t count = 0;

	*ret_children = NULL;
	for (uint32_t i = tree->nodes[node].first_child; i != 0; i = tree->nodes[i].next) {
		const uint64_t value = seep_counts_value(&tree->nodes[i].inclusive, measure);

		if (value == 0 || value < least)
			continue;
		ranked = seep_xgrow(ranked, &capacity, count + 1, sizeof(*ranked));
		ranked[count++] = (struct seep_ranked){ .value = value, .index = i };
	}
	if (count == 0)
		return 0;
	seep_rank_top(ranked, count, count);
	*ret_children = seep_xcalloc(count, sizeof(**ret_children));
	for (size_t i = 0; i < count; i++)
		(*ret_children)[i] = ranked[i].index;
	free(ranked);
	return (uint32_t)count;
}
