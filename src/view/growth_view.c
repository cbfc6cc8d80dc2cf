/* SPDX-License-Identifier: MIT */
#include "view/growth_view.h"

#include <stdlib.h>

#include "analysis/growth_text.h"
#include "base/terminal.h"
#include "base/units.h"
#include "base/xalloc.h"

/* GROWING is more than STALE, whatever the figures; blocks freed late are least. */
static int rank_of(const struct seep_profile_growth *growth)
{
	return growth->verdict == SEEP_GROWTH_GROWING ? 2 : growth->verdict == SEEP_GROWTH_STALE;
}

static void merge(struct seep_profile_growth *all, const struct seep_profile_growth *one)
{
	if (rank_of(one) > rank_of(all)) {
		*all = *one;
		return;
	}
	if (rank_of(one) < rank_of(all))
		return;
	if (one->since_ns < all->since_ns)
		all->since_ns = one->since_ns;
	if (one->until_ns > all->until_ns)
		all->until_ns = one->until_ns;
	if (one->confidence > all->confidence)
		all->confidence = one->confidence;
	if (one->quiet_ns < all->quiet_ns)
		all->quiet_ns = one->quiet_ns;
	all->present_bytes_per_hour += one->present_bytes_per_hour;
	all->bytes += one->bytes;
	all->blocks += one->blocks;
	all->freed_late += one->freed_late;
	all->returned &= one->returned;
}

/* Of all contexts of @group together; false: none has any. */
static bool growth_of(const struct seep_groups *groups, const struct seep_profile *profile,
		      const struct seep_group *group, struct seep_profile_growth *ret)
{
	uint32_t context = group->context;
	bool found = false;

	for (uint32_t i = 0; i < group->context_count; i++, context = groups->next[context]) {
		const struct seep_profile_growth *one = profile->contexts[context].growth;

		if (one && found)
			merge(ret, one);
		else if (one)
			*ret = *one;
		found |= one != NULL;
	}
	return found;
}

/* As it would be said of one context with the figures of all. */
static char *figures_of(const struct seep_profile *profile, const struct seep_group *group,
			const struct seep_profile_growth *growth)
{
	struct seep_profile_context all = profile->contexts[group->context];
	SEEP_FREED char *line = NULL, *evidence = NULL;

	all.allocs = (uint64_t)group->counts.allocs;
	all.frees = (uint64_t)group->counts.frees;
	all.live_bytes = (uint64_t)group->counts.live_bytes;
	evidence = seep_growth_evidence(profile, &all, growth);
	line = seep_xasprintf("%s%s%s", seep_growth_verdict_name(growth->verdict),
			      growth->verdict ? ": " : "", evidence);
	return seep_escape_dup(line);
}

static int by_growth(const void *a, const void *b)
{
	const struct seep_growing_stack *x = a, *y = b;
	const int order = rank_of(&y->growth) - rank_of(&x->growth);

	if (order != 0)
		return order;
	if (x->growth.bytes != y->growth.bytes)
		return x->growth.bytes > y->growth.bytes ? -1 : 1;
	return (x->group > y->group) - (x->group < y->group);
}

static bool has_growth(const struct seep_profile *profile)
{
	for (uint32_t i = 0; i < profile->context_count; i++)
		if (profile->contexts[i].growth)
			return true;
	return false;
}

void seep_growth_view_init(struct seep_growth_view *growth, const struct seep_view *view,
			   uint32_t top)
{
	const struct seep_profile *profile = view->profile;

	*growth = (struct seep_growth_view){ 0 };
	/* Most often there is none: groups are a pass over all stacks. */
	if (!has_growth(profile))
		return;
	growth->groups = seep_groups_new(view->sites, !view->options->full,
					 view->options->by_thread);
	for (uint32_t i = 0; i < growth->groups->count; i++) {
		struct seep_growing_stack item = { .group = &growth->groups->items[i] };

		if (growth_of(growth->groups, profile, item.group, &item.growth))
			*SEEP_APPEND(growth->items, growth->all) = item;
	}
	if (growth->all > 0)
		qsort(growth->items, growth->all, sizeof(*growth->items), by_growth);
	growth->count = top > 0 && top < growth->all ? top : growth->all;
	for (uint32_t i = 0; i < growth->count; i++) {
		struct seep_growing_stack *item = &growth->items[i];

		seep_stack_lines_init(&item->stack, view, &profile->contexts[item->group->context],
				      item->group->stack, item->group->stack_count);
		item->stack.figures = figures_of(profile, item->group, &item->growth);
	}
}

void seep_growth_view_done(struct seep_growth_view *growth)
{
	for (uint32_t i = 0; i < growth->count; i++)
		seep_stack_lines_done(&growth->items[i].stack);
	free(growth->items);
	seep_groups_free(growth->groups);
}

char *seep_growth_answer(const struct seep_growth_view *growth, const struct seep_profile *profile)
{
	const char *then = profile->process.ended == SEEP_ENDED_RUNNING ? "grows" : "grew";
	SEEP_STRBUF(line, SEEP_LINE_BYTES_MAX);
	uint32_t growing = 0;
	uint64_t stale = 0, bytes = 0, rate = 0;

	for (uint32_t i = 0; i < growth->all; i++) {
		const struct seep_profile_growth *one = &growth->items[i].growth;

		stale += one->blocks;
		if (one->verdict != SEEP_GROWTH_GROWING)
			continue;
		growing++;
		bytes += one->bytes;
		rate += seep_growth_bytes_per_hour(one);
	}
	if (growing == 0 && seep_profile_says(profile, SEEP_UNSEEN_IMPORTED))
		seep_strbuf_adds(&line, "Growth was not judged: the profile was imported");
	else if (growing == 0 && profile->growth_after_ns == 0)
		seep_strbuf_addf(
			&line,
			profile->process.ended == SEEP_ENDED_RUNNING
				? "Growth is not judged here: seep top %u watches the process"
				: "Growth was not judged: process %u was not watched for "
				  "--growth-after, or not at all",
			profile->process.pid);
	else if (growing == 0)
		seep_strbuf_addf(&line, "No call stack %s for %s", then,
				 seep_duration_text(profile->growth_after_ns).text);
	else
		seep_strbuf_addf(&line, "GROWING: %s, %s at %s",
				 seep_things_text(growing, "call stack").text,
				 seep_bytes_text(bytes).text, seep_growth_rate_text(rate).text);
	if (stale > 0)
		seep_strbuf_addf(&line, "; %s", seep_things_text(stale, "stale block").text);
	return seep_strbuf_take(&line);
}
