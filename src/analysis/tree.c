/* SPDX-License-Identifier: MIT */
/*
 * The tree grows from the root: a node's contexts lie next to each other in one array, and growing
 * it sorts them by their next function, in place. What falls below the limit is never looked at
 * again, so a million stacks whose tails all differ cost no more than the trunk they share.
 */
#include "analysis/tree.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/fold.h"
#include "base/arena.h"
#include "base/xalloc.h"

/* A node that is still to be grown: its contexts are order[from..to). */
struct job {
	uint32_t node;
	uint32_t from;
	uint32_t to;
};

/* A child while its parent is grown. */
struct sprout {
	struct seep_tree_node node;
	uint32_t key;
	uint32_t contexts;
	uint32_t place; /* where the next of its contexts goes; NOWHERE when it is left out */
};

enum { KEY_SPECIALS = 16 };
#define NOWHERE UINT32_MAX

struct grower {
	const struct seep_sites *sites;
	struct seep_tree *tree;
	enum seep_measure measure;
	int64_t least;
	uint32_t *order; /* contexts */
	uint32_t *moved; /* room for as many */
	uint32_t *keys;	 /* by place in order: a number for what comes next; NOWHERE: nothing */
	uint32_t *left;	 /* by context: how many entries are not added yet, the innermost */
	const struct seep_profile_stack_entry **stacks; /* by context: recursion folded */
	struct seep_arena *arena; /* of these, and of stacks that differ from the context's */
	uint32_t *sprout_of_key;  /* valid where stamps say so */
	uint32_t *stamps;	  /* node that was grown when sprout_of_key was set, + 1 */
	struct sprout *sprouts;
	uint32_t sprout_count;
	struct job *jobs;
	size_t job_count;
};

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

/* What stands below node @node for @context; SEEP_TREE_ROOT: it ends there. */
static uint32_t next_frame(const struct grower *g, uint32_t node, uint32_t context)
{
	const uint32_t special = special_of(&g->sites->profile->contexts[context]);

	if (node == 0 && special != SEEP_TREE_ROOT)
		return special;
	return g->left[context] ? g->stacks[context][g->left[context] - 1].frame : SEEP_TREE_ROOT;
}

static struct sprout *sprout_for(struct grower *g, uint32_t node, uint32_t key, uint32_t frame)
{
	struct sprout *sprout;

	if (g->stamps[key] == node + 1)
		return &g->sprouts[g->sprout_of_key[key]];
	g->stamps[key] = node + 1;
	g->sprout_of_key[key] = g->sprout_count;
	sprout = SEEP_APPEND(g->sprouts, g->sprout_count);
	*sprout = (struct sprout){ .node = { .entry.frame = frame }, .key = key };
	return sprout;
}

static void note_entry(const struct grower *g, struct seep_tree_node *node,
		       const struct seep_profile_stack_entry *entry)
{
	const struct seep_site *site = g->sites->of_frame;

	if (site[node->entry.frame].line != site[entry->frame].line)
		node->several_lines = true;
	/* The deepest recursion is shown. */
	if (entry->period > 0 &&
	    (node->entry.period == 0 || node->entry.repeats < entry->repeats)) {
		node->entry.period = entry->period;
		node->entry.repeats = entry->repeats;
	}
}

/* Sum the contexts of @job by what comes next. */
static void sprout(struct grower *g, const struct job *job)
{
	g->sprout_count = 0;
	for (uint32_t i = job->from; i < job->to; i++) {
		const uint32_t context = g->order[i];
		const uint32_t frame = next_frame(g, job->node, context);
		const bool is_special = frame >= SEEP_TREE_SPECIAL;
		struct sprout *child;

		g->keys[i] = NOWHERE;
		if (frame == SEEP_TREE_ROOT)
			continue;
		g->keys[i] = is_special ? g->sites->function_count + (UINT32_MAX - frame)
					: g->sites->of_frame[frame].function;
		child = sprout_for(g, job->node, g->keys[i], frame);
		child->contexts++;
		seep_counts_sum(
			&child->node.value,
			seep_context_value(&g->sites->profile->contexts[context], g->measure));
		child->node.square += seep_context_square(&g->sites->profile->contexts[context],
							  g->measure);
		if (!is_special)
			note_entry(g, &child->node, &g->stacks[context][--g->left[context]]);
	}
}

static uint32_t add_node(struct grower *g, const struct seep_tree_node *node)
{
	*SEEP_APPEND(g->tree->nodes, g->tree->count) = *node;
	return g->tree->count - 1;
}

/* The largest first; of equal ones the one that was met first. */
static int compare(const void *a, const void *b, void *sprout_of_key)
{
	const struct sprout *x = a, *y = b;
	const uint32_t *met = sprout_of_key;

	if (x->node.value != y->node.value)
		return x->node.value > y->node.value ? -1 : 1;
	return met[x->key] < met[y->key] ? -1 : 1;
}

/* Turn the sprouts that are large enough into nodes, each with a place for its contexts. */
static void root_sprouts(struct grower *g, const struct job *job)
{
	uint32_t place = job->from;
	uint32_t before = 0;

	if (g->sprout_count > 1)
		qsort_r(g->sprouts, g->sprout_count, sizeof(*g->sprouts), compare,
			g->sprout_of_key);
	for (uint32_t i = 0; i < g->sprout_count; i++) {
		struct sprout *child = &g->sprouts[i];
		const int64_t value = child->node.value;
		uint32_t node;

		g->sprout_of_key[child->key] = i;
		if (value == 0 || (value < g->least && value > -g->least)) {
			g->tree->pruned_count += value != 0;
			seep_counts_sum(&g->tree->pruned_value, value);
			child->place = NOWHERE;
			continue;
		}
		node = add_node(g, &child->node);
		if (before == 0)
			g->tree->nodes[job->node].first_child = node;
		else
			g->tree->nodes[before].next = node;
		before = node;
		child->place = place;
		*SEEP_APPEND(g->jobs, g->job_count) = (struct job){
			.node = node,
			.from = place,
			.to = place + child->contexts,
		};
		place += child->contexts;
	}
}

/* Bring the contexts of each child together; those that go no further are dropped. */
static void move_contexts(struct grower *g, const struct job *job)
{
	memcpy(g->moved + job->from, g->order + job->from,
	       (size_t)(job->to - job->from) * sizeof(*g->order));
	for (uint32_t i = job->from; i < job->to; i++) {
		struct sprout *child;

		if (g->keys[i] == NOWHERE)
			continue;
		child = &g->sprouts[g->sprout_of_key[g->keys[i]]];
		if (child->place != NOWHERE)
			g->order[child->place++] = g->moved[i];
	}
}

/* Leave out library code between the program's functions. Returns how many entries stay. */
static uint32_t without_passing(struct grower *g, const struct seep_profile_stack_entry **stack,
				const struct seep_profile_stack_entry *of,
				struct seep_stack_part part)
{
	struct seep_profile_stack_entry *kept = NULL;
	uint32_t count = 0;

	for (uint32_t i = part.first; i < part.end; i++) {
		if (!seep_sites_passes(g->sites, of, part, i)) {
			if (kept != NULL)
				kept[count] = of[i];
			count++;
		} else if (kept == NULL) {
			kept = seep_xcalloc(part.end - part.first, sizeof(*kept));
			seep_arena_take(g->arena, kept);
			memcpy(kept, of + part.first, count * sizeof(*kept));
			*stack = kept;
		}
	}
	return count;
}

/* Choose the part of the stack that is added, with recursion folded by function. */
static void prepare_stack(struct grower *g, uint32_t index, bool whole, struct seep_folder *folder)
{
	const struct seep_profile_context *context = &g->sites->profile->contexts[index];
	const struct seep_profile_stack_entry *stack;
	uint32_t count;
	struct seep_stack_part part = seep_sites_trim(g->sites, context->stack,
						      context->stack_count);

	if (whole)
		part.first = 0;
	stack = part.first > 0 ? context->stack + part.first : context->stack;
	count = whole ? part.end : without_passing(g, &stack, context->stack, part);
	g->left[index] = whole ? part.end : seep_fold(folder, &stack, count);
	if (g->left[index] < count) {
		stack = seep_xmemdup(stack, g->left[index] * sizeof(*stack));
		seep_arena_take(g->arena, (void *)stack);
	}
	g->stacks[index] = stack;
}

static void plant(struct grower *g, bool whole)
{
	const struct seep_profile *profile = g->sites->profile;
	struct seep_tree_node root = { .entry.frame = SEEP_TREE_ROOT };
	SEEP_RELEASED(seep_folder_done)
	struct seep_folder folder = { .sites = g->sites, .by = SEEP_FOLD_BY_FUNCTION };
	uint32_t count = 0;

	for (uint32_t i = 0; i < profile->context_count; i++) {
		if (profile->contexts[i].hidden)
			continue;
		g->order[count++] = i;
		prepare_stack(g, i, whole, &folder);
		seep_counts_sum(&root.value, seep_context_value(&profile->contexts[i], g->measure));
	}
	*SEEP_APPEND(g->jobs, g->job_count) = (struct job){ add_node(g, &root), 0, count };
}

struct seep_tree *seep_tree_new(const struct seep_sites *sites, bool whole,
				enum seep_measure measure, int64_t least)
{
	const size_t contexts = sites->profile->context_count;
	const size_t keys = (size_t)sites->function_count + KEY_SPECIALS;
	SEEP_RELEASED(seep_arena_free_at) struct seep_arena *arena = seep_arena_new();
	struct grower g = {
		.sites = sites,
		.tree = seep_xcalloc(1, sizeof(struct seep_tree)),
		.measure = measure,
		.least = least,
		.order = seep_arena_calloc(arena, contexts, sizeof(uint32_t)),
		.moved = seep_arena_calloc(arena, contexts, sizeof(uint32_t)),
		.keys = seep_arena_calloc(arena, contexts, sizeof(uint32_t)),
		.left = seep_arena_calloc(arena, contexts, sizeof(uint32_t)),
		.stacks = seep_arena_calloc(arena, contexts, sizeof(void *)),
		.arena = arena,
		.sprout_of_key = seep_arena_calloc(arena, keys, sizeof(uint32_t)),
		.stamps = seep_arena_calloc(arena, keys, sizeof(uint32_t)),
	};

	plant(&g, whole);
	while (g.job_count > 0) {
		const struct job job = g.jobs[--g.job_count];

		sprout(&g, &job);
		root_sprouts(&g, &job);
		move_contexts(&g, &job);
	}
	free(g.sprouts);
	free(g.jobs);
	return g.tree;
}

void seep_tree_free(struct seep_tree *tree)
{
	if (tree == NULL)
		return;
	free(tree->nodes);
	free(tree);
}
