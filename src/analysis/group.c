/* SPDX-License-Identifier: MIT */
/* One pass over all contexts, with a hash over what a reader would see of each. */
#include "analysis/group.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/fold.h"
#include "base/idtable.h"
#include "analysis/rank.h"
#include "base/xalloc.h"

/* A context as it is compared: its stack folded. */
struct candidate {
	const struct seep_profile_context *context;
	const struct seep_profile_stack_entry *stack;
	uint32_t count;
	bool folded; /* stack is scratch memory */
};

struct grouper {
	const struct seep_sites *sites;
	struct seep_groups *groups;
	struct seep_idtable table;
	struct seep_profile_stack_entry *scratch;
	size_t scratch_capacity;
	bool fold;
	bool by_thread;
	uint32_t *last; /* by group: its last context so far */
};

static struct candidate prepare(struct grouper *g, const struct seep_profile_context *context)
{
	struct candidate c = { context, context->stack, context->stack_count, false };
	uint32_t count;

	if (!g->fold || context->stack_count < 2)
		return c;
	g->scratch = seep_xgrow(g->scratch, &g->scratch_capacity, context->stack_count,
				sizeof(*g->scratch));
	count = seep_fold(g->sites, SEEP_FOLD_BY_LINE, context->stack, context->stack_count,
			  g->scratch);
	if (count < context->stack_count) {
		c.stack = g->scratch;
		c.count = count;
		c.folded = true;
	}
	return c;
}

/* How often a recursion repeats is left out: stacks that differ in it only are one group. */
static uint64_t hash_candidate(const struct grouper *g, const struct candidate *c)
{
	uint64_t hash = seep_hash_mix(c->context->kind, c->count);

	if (g->by_thread && c->context->thread != NULL)
		hash = seep_hash_text(hash, c->context->thread);
	if (c->context->scope != NULL)
		hash = seep_hash_text(hash, c->context->scope);
	for (uint32_t i = 0; i < c->count; i++)
		hash = seep_hash_mix(hash, g->sites->of_frame[c->stack[i].frame].line);
	return hash;
}

static bool text_equal(const char *a, const char *b)
{
	return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

static bool belongs(const struct grouper *g, const struct seep_group *group,
		    const struct candidate *c)
{
	const struct seep_profile_context *a = &g->sites->profile->contexts[group->context];
	const struct seep_profile_context *b = c->context;

	return a->kind == b->kind && a->truncated == b->truncated && a->cut == b->cut &&
	       a->no_stack == b->no_stack && a->other == b->other &&
	       (!g->by_thread || text_equal(a->thread, b->thread)) &&
	       text_equal(a->scope, b->scope) &&
	       seep_fold_equal(g->sites, SEEP_FOLD_BY_LINE, group->stack, group->stack_count,
			       c->stack, c->count);
}

/* Let the group's stack be the one with the deepest recursion. */
static void deepen(struct seep_group *group, const struct candidate *c)
{
	if (seep_fold_frames(c->stack, c->count) <= seep_fold_frames(group->stack, c->count))
		return;
	free(group->own_stack);
	group->own_stack = c->folded ? seep_xmemdup(c->stack, c->count * sizeof(*c->stack)) : NULL;
	group->stack = c->folded ? group->own_stack : c->stack;
}

static struct seep_group *find_group(struct grouper *g, const struct candidate *c)
{
	const uint64_t hash = hash_candidate(g, c);
	struct seep_group *group;
	size_t at = SEEP_IDTABLE_START;
	uint32_t id;

	while ((id = seep_idtable_find(&g->table, hash, &at)) != SEEP_IDTABLE_NONE) {
		group = &g->groups->items[id];
		if (belongs(g, group, c)) {
			deepen(group, c);
			return group;
		}
	}
	seep_idtable_add(&g->table, hash, g->groups->count);
	group = &g->groups->items[g->groups->count++];
	group->context = (uint32_t)(c->context - g->sites->profile->contexts);
	group->stack_count = c->count;
	if (c->folded)
		group->own_stack = seep_xmemdup(c->stack, c->count * sizeof(*c->stack));
	group->stack = c->folded ? group->own_stack : c->stack;
	return group;
}

static void link_context(struct grouper *g, struct seep_group *group, uint32_t context)
{
	uint32_t *last = &g->last[group - g->groups->items];

	g->groups->next[context] = context;
	if (group->context_count++ > 0)
		g->groups->next[*last] = context;
	*last = context;
}

struct seep_groups *seep_groups_new(const struct seep_sites *sites, bool fold, bool by_thread)
{
	const struct seep_profile *profile = sites->profile;
	struct seep_groups *groups = seep_xcalloc(1, sizeof(*groups));
	struct grouper g = {
		.sites = sites, .groups = groups, .fold = fold, .by_thread = by_thread
	};

	groups->items = seep_xcalloc(profile->context_count, sizeof(*groups->items));
	groups->next = seep_xcalloc(profile->context_count, sizeof(*groups->next));
	g.last = seep_xcalloc(profile->context_count, sizeof(*g.last));
	seep_idtable_init(&g.table, profile->context_count);
	seep_counts_add_context(&groups->total, &profile->left_out);
	for (uint32_t i = 0; i < profile->context_count; i++) {
		const struct candidate c = prepare(&g, &profile->contexts[i]);
		struct seep_group *group = find_group(&g, &c);

		link_context(&g, group, i);
		seep_counts_add_context(&group->counts, &profile->contexts[i]);
		seep_counts_add_context(&groups->total, &profile->contexts[i]);
	}
	seep_idtable_done(&g.table);
	free(g.last);
	free(g.scratch);
	return groups;
}

void seep_groups_free(struct seep_groups *groups)
{
	if (groups == NULL)
		return;
	for (uint32_t i = 0; i < groups->count; i++)
		free(groups->items[i].own_stack);
	free(groups->next);
	free(groups->items);
	free(groups);
}

uint32_t seep_groups_count(const struct seep_groups *groups, enum seep_measure measure)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < groups->count; i++)
		count += seep_counts_value(&groups->items[i].counts, measure) != 0;
	return count;
}

uint32_t seep_groups_top(const struct seep_groups *groups, const struct seep_profile *profile,
			 enum seep_measure measure, uint32_t top, uint32_t *ret_top)
{
	struct seep_ranked *ranked = seep_xcalloc(groups->count, sizeof(*ranked));
	size_t count = 0;

	for (uint32_t i = 0; i < groups->count; i++) {
		const struct seep_group *group = &groups->items[i];
		const int64_t value = seep_counts_value(&group->counts, measure);

		if (value != 0)
			ranked[count++] = (struct seep_ranked){
				.value = value,
				.tie = profile->contexts[group->context].hash,
				.index = i,
			};
	}
	count = seep_rank_top(ranked, count, top);
	for (size_t i = 0; i < count; i++)
		ret_top[i] = ranked[i].index;
	free(ranked);
	return (uint32_t)count;
}
