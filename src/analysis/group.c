/* SPDX-License-Identifier: MIT */
/* One pass over all contexts, with a hash over what a reader would see of each. */
#include "analysis/group.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/idtable.h"
#include "analysis/rank.h"
#include "base/xalloc.h"

static uint64_t hash_context(const struct seep_sites *sites,
			     const struct seep_profile_context *context)
{
	uint64_t hash = seep_hash_mix(context->kind, context->stack_count);

	if (context->thread != NULL)
		hash = seep_hash_text(hash, context->thread);
	if (context->scope != NULL)
		hash = seep_hash_text(hash, context->scope);
	for (uint32_t i = 0; i < context->stack_count; i++) {
		const struct seep_profile_stack_entry *entry = &context->stack[i];

		hash = seep_hash_mix(hash, (uint64_t)sites->of_frame[entry->frame].line << 8 |
						   entry->period);
	}
	return hash;
}

static bool text_equal(const char *a, const char *b)
{
	return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

static bool same_stack(const struct seep_sites *sites, const struct seep_profile_context *a,
		       const struct seep_profile_context *b)
{
	if (a->stack_count != b->stack_count)
		return false;
	for (uint32_t i = 0; i < a->stack_count; i++) {
		const struct seep_profile_stack_entry *x = &a->stack[i];
		const struct seep_profile_stack_entry *y = &b->stack[i];

		if (sites->of_frame[x->frame].line != sites->of_frame[y->frame].line ||
		    x->period != y->period)
			return false;
	}
	return true;
}

static bool looks_same(const struct seep_sites *sites, const struct seep_profile_context *a,
		       const struct seep_profile_context *b)
{
	return a->kind == b->kind && a->truncated == b->truncated && a->cut == b->cut &&
	       a->no_stack == b->no_stack && a->other == b->other &&
	       text_equal(a->thread, b->thread) && text_equal(a->scope, b->scope) &&
	       same_stack(sites, a, b);
}

static struct seep_group *find_group(struct seep_groups *groups, struct seep_idtable *table,
				     const struct seep_sites *sites, uint32_t context)
{
	const struct seep_profile_context *contexts = sites->profile->contexts;
	const uint64_t hash = hash_context(sites, &contexts[context]);
	struct seep_group *group;
	size_t at = SEEP_IDTABLE_START;
	uint32_t id;

	while ((id = seep_idtable_find(table, hash, &at)) != SEEP_IDTABLE_NONE) {
		group = &groups->items[id];
		if (looks_same(sites, &contexts[group->context], &contexts[context]))
			return group;
	}
	seep_idtable_add(table, hash, groups->count);
	group = &groups->items[groups->count++];
	group->context = context;
	return group;
}

struct seep_groups *seep_groups_new(const struct seep_sites *sites)
{
	const struct seep_profile *profile = sites->profile;
	struct seep_groups *groups = seep_xcalloc(1, sizeof(*groups));
	struct seep_idtable table;

	groups->items = seep_xcalloc(profile->context_count, sizeof(*groups->items));
	seep_idtable_init(&table, profile->context_count);
	for (uint32_t i = 0; i < profile->context_count; i++) {
		struct seep_group *group = find_group(groups, &table, sites, i);

		group->context_count++;
		seep_counts_add_context(&group->counts, &profile->contexts[i]);
		seep_counts_add_context(&groups->total, &profile->contexts[i]);
	}
	seep_idtable_done(&table);
	return groups;
}

void seep_groups_free(struct seep_groups *groups)
{
	if (groups == NULL)
		return;
	free(groups->items);
	free(groups);
}

uint32_t seep_groups_top(const struct seep_groups *groups, const struct seep_profile *profile,
			 enum seep_measure measure, uint32_t top, uint32_t *ret_top)
{
	struct seep_ranked *ranked = seep_xcalloc(groups->count, sizeof(*ranked));
	size_t count = 0;

	for (uint32_t i = 0; i < groups->count; i++) {
		const struct seep_group *group = &groups->items[i];
		const uint64_t value = seep_counts_value(&group->counts, measure);

		if (value > 0)
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
