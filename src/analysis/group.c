/* SPDX-License-Identifier: MIT */
/* One pass over all contexts, with a hash over what a reader would see of each. */
#include "analysis/group.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/fold.h"
#include "analysis/growth.h"
#include "analysis/growth_text.h"
#include "analysis/rank.h"
#include "base/idtable.h"
#include "base/xalloc.h"
#include "core/bits.h"

/* A context as it is compared: its stack folded. */
struct candidate {
	const struct seep_profile_context *context;
	const struct seep_profile_stack_entry *stack;
	uint32_t count;
};

struct grouper {
	const struct seep_sites *sites;
	struct seep_groups *groups;
	struct seep_idtable table;
	bool by_thread;
	bool by_scope;
	uint32_t *last; /* by group: its last context so far */
};

/* How often a recursion repeats is left out: stacks that differ in it only are one group. */
static uint64_t hash_candidate(const struct grouper *g, const struct candidate *c)
{
	uint64_t hash = seep_hash_mix(c->context->kind, c->count);

	if (g->by_thread && c->context->thread != NULL)
		hash = seep_hash_text(hash, c->context->thread);
	if (g->by_scope)
		hash = seep_hash_mix(hash, c->context->scope);
	for (uint32_t i = 0; i < c->count; i++)
		hash = seep_hash_mix(hash, g->sites->of_frame[c->stack[i].frame].line);
	return hash;
}

static bool same_lines(const struct grouper *g, const struct seep_group *group,
		       const struct candidate *c)
{
	const struct seep_site *site = g->sites->of_frame;

	for (uint32_t i = 0; i < c->count; i++)
		if (site[group->stack[i].frame].line != site[c->stack[i].frame].line)
			return false;
	return true;
}

static bool belongs(const struct grouper *g, const struct seep_group *group,
		    const struct candidate *c)
{
	const struct seep_profile_context *a = &g->sites->profile->contexts[group->context];
	const struct seep_profile_context *b = c->context;

	return a->kind == b->kind && a->truncated == b->truncated && a->cut == b->cut &&
	       a->no_stack == b->no_stack && a->other == b->other && a->site == b->site &&
	       (!g->by_scope || a->scope == b->scope) &&
	       (!g->by_thread || seep_text_equal(a->thread, b->thread)) &&
	       group->stack_count == c->count && same_lines(g, group, c);
}

static void set_stack(struct grouper *g, struct seep_group *group, const struct candidate *c)
{
	group->stack = c->stack;
	if (c->stack == c->context->stack)
		return;
	group->stack = seep_xmemdup(c->stack, c->count * sizeof(*c->stack));
	seep_arena_take(g->groups->stacks, (void *)group->stack);
}

static struct seep_group *find_group(struct grouper *g, const struct candidate *c)
{
	const uint64_t hash = hash_candidate(g, c);
	struct seep_group *group;
	size_t at = SEEP_IDTABLE_START;
	uint32_t id;

	while ((id = seep_idtable_find(&g->table, hash, &at)) != SEEP_IDTABLE_NONE) {
		group = &g->groups->items[id];
		if (!belongs(g, group, c))
			continue;
		/* The group's stack is the one with the deepest recursion. */
		if (seep_fold_frames(c->stack, c->count) > seep_fold_frames(group->stack, c->count))
			set_stack(g, group, c);
		return group;
	}
	seep_idtable_add(&g->table, hash, g->groups->count);
	group = &g->groups->items[g->groups->count++];
	group->context = (uint32_t)(c->context - g->sites->profile->contexts);
	group->stack_count = c->count;
	set_stack(g, group, c);
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

static struct seep_groups *groups_new(const struct seep_sites *sites, bool fold, bool by_thread,
				      bool by_scope)
{
	const struct seep_profile *profile = sites->profile;
	struct seep_groups *groups = seep_xcalloc(1, sizeof(*groups));
	struct grouper g = {
		.sites = sites, .groups = groups, .by_thread = by_thread, .by_scope = by_scope
	};
	SEEP_RELEASED(seep_folder_done)
	struct seep_folder folder = { .sites = sites, .by = SEEP_FOLD_BY_LINE };

	groups->items = seep_xcalloc(profile->context_count, sizeof(*groups->items));
	groups->next = seep_xcalloc(profile->context_count, sizeof(*groups->next));
	groups->stacks = seep_arena_new();
	g.last = seep_xcalloc(profile->context_count, sizeof(*g.last));
	seep_idtable_init(&g.table, profile->context_count);
	for (uint32_t i = 0; i < profile->context_count; i++) {
		const struct seep_profile_context *context = &profile->contexts[i];
		struct candidate c = { context, context->stack, context->stack_count };
		struct seep_group *group;

		if (context->hidden)
			continue;
		if (fold)
			c.count = seep_fold(&folder, &c.stack, c.count);
		group = find_group(&g, &c);
		link_context(&g, group, i);
		seep_counts_add_context(&group->counts, context);
	}
	seep_idtable_done(&g.table);
	free(g.last);
	return groups;
}

struct seep_groups *seep_groups_new(const struct seep_sites *sites, bool fold, bool by_thread)
{
	return groups_new(sites, fold, by_thread, false);
}

/* Both ascending. */
static void join_epochs(struct seep_profile_context *sum, const struct seep_profile_context *more,
			struct seep_arena *arena)
{
	const uint32_t own = sum->epoch_count, room = own + more->epoch_count;
	struct seep_profile_epoch *all = seep_arena_calloc(arena, room, sizeof(*all));
	uint32_t count = 0;

	for (uint32_t i = 0, k = 0; i < own || k < more->epoch_count; count++) {
		const bool mine = k == more->epoch_count ||
				  (i < own && sum->epochs[i].epoch <= more->epochs[k].epoch);

		all[count] = mine ? sum->epochs[i++] : more->epochs[k++];
		if (count == 0 || all[count - 1].epoch != all[count].epoch)
			continue;
		count--;
		all[count].blocks += all[count + 1].blocks;
		all[count].bytes += all[count + 1].bytes;
	}
	sum->epochs = all;
	sum->epoch_count = count;
}

static void join_growth(struct seep_profile_context *sum, const struct seep_profile_context *more,
			struct seep_arena *arena)
{
	const struct seep_profile_growth *own = sum->growth;

	sum->growth = seep_arena_alloc(arena, sizeof(*sum->growth));
	if (own)
		*sum->growth = *own;
	seep_growth_join(sum->growth, more->growth);
}

struct seep_profile_context seep_group_context(const struct seep_groups *groups,
					       const struct seep_profile *profile,
					       const struct seep_group *group,
					       struct seep_arena *arena)
{
	struct seep_profile_context sum = profile->contexts[group->context];
	bool is_estimate = sum.errors != NULL;

	for (uint32_t i = 1, at = group->context; i < group->context_count; i++) {
		const struct seep_profile_context *more = &profile->contexts[at = groups->next[at]];

		for (int k = 0; k < SEEP_FIGURE_COUNT; k++)
			core_add(&sum.figures[k], more->figures[k]);
		sum.first_ns = core_smaller(sum.first_ns, more->first_ns);
		sum.scope = sum.scope == more->scope ? sum.scope : 0;
		sum.by_frame_pointer |= more->by_frame_pointer;
		sum.in_doubt |= more->in_doubt;
		is_estimate |= more->errors != NULL;
		if (arena && more->epoch_count > 0)
			join_epochs(&sum, more, arena);
		if (more->growth)
			join_growth(&sum, more, arena);
	}
	if (is_estimate && group->context_count > 1) {
		sum.errors = seep_arena_calloc(arena ? arena : groups->stacks, SEEP_FIGURE_COUNT,
					       sizeof(*sum.errors));
		for (int k = 0; k < SEEP_FIGURE_COUNT; k++)
			sum.errors[k] = seep_counts_figure_error(&group->counts, k);
	}
	if (sum.growth && group->context_count > 1) {
		sum.growth->evidence = seep_growth_evidence(profile, &sum, sum.growth);
		seep_arena_take(arena, sum.growth->evidence);
	}
	return sum;
}

void seep_groups_merge(struct seep_profile *profile, const struct seep_sites *sites)
{
	SEEP_RELEASED(seep_groups_free_at)
	struct seep_groups *groups = groups_new(sites, true, true, true);
	const uint32_t count = profile->context_count, fewer = count - groups->count;
	const uint32_t all = count + profile->left_out_count;
	/* By a context's index + 1: that of its group, or where it is now. */
	SEEP_FREED uint32_t *of = seep_xcalloc((size_t)all + 1, sizeof(*of));

	for (uint32_t i = 0; i < groups->count; i++) {
		const struct seep_group *group = &groups->items[i];
		uint32_t at = group->context;

		for (uint32_t k = 0; k < group->context_count; k++, at = groups->next[at])
			of[at + 1] = i + 1;
		/* In the place of one that is in this group, or in one before it. */
		profile->contexts[i] = seep_group_context(groups, profile, group, profile->arena);
	}
	for (uint32_t i = count + 1; i <= all; i++)
		of[i] = i - fewer;
	memmove(&profile->contexts[groups->count], &profile->contexts[count],
		profile->left_out_count * sizeof(*profile->contexts));
	seep_profile_renumber(profile, of);
	profile->context_count = groups->count;
}

void seep_groups_free(struct seep_groups *groups)
{
	if (groups == NULL)
		return;
	seep_arena_free(groups->stacks);
	free(groups->next);
	free(groups->items);
	free(groups);
}

uint32_t seep_groups_top(const struct seep_groups *groups, const struct seep_profile *profile,
			 enum seep_measure measure, uint32_t top, uint32_t *ret_top)
{
	struct seep_ranked *ranked = seep_xcalloc(groups->count, sizeof(*ranked));
	uint32_t count = 0;

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
	(void)seep_rank_order(ranked, count, top, ret_top);
	return count;
}
