/* SPDX-License-Identifier: MIT */
#include "view/growth_view.h"

#include <stdlib.h>

#include "analysis/growth.h"
#include "analysis/growth_text.h"
#include "base/search.h"
#include "base/terminal.h"
#include "base/units.h"
#include "base/xalloc.h"

/* As it would be said of one context with the figures of all. */
static char *figures_of(const struct seep_profile_growth *growth)
{
	SEEP_FREED char *line = seep_xasprintf("%s%s%s", seep_growth_verdict_name(growth->verdict),
					       growth->verdict ? ": " : "",
					       growth->evidence ? growth->evidence : "");

	return seep_escape_dup(line);
}

static int by_growth(const void *a, const void *b)
{
	const struct seep_growing_stack *x = a, *y = b;

	return seep_growth_rank(&y->growth) - seep_growth_rank(&x->growth)
		       ?: seep_search_order(y->growth.bytes, x->growth.bytes)
		       ?: (x->group > y->group) - (x->group < y->group);
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

		const struct seep_profile_context all = seep_group_context(
			growth->groups, profile, item.group, growth->groups->stacks);

		if (!all.growth)
			continue;
		item.growth = *all.growth;
		*SEEP_APPEND(growth->items, growth->all) = item;
	}
	if (growth->all > 0)
		qsort(growth->items, growth->all, sizeof(*growth->items), by_growth);
	growth->count = top > 0 && top < growth->all ? top : growth->all;
	for (uint32_t i = 0; i < growth->count; i++) {
		struct seep_growing_stack *item = &growth->items[i];

		seep_stack_lines_init(&item->stack, view, &profile->contexts[item->group->context],
				      item->group->stack, item->group->stack_count);
		item->stack.figures = figures_of(&item->growth);
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
