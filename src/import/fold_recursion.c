/* SPDX-License-Identifier: MIT */
#include "import/fold_recursion.h"

#include "base/xalloc.h"
#include "profile/profile.h"

#include <stdlib.h>
#include <string.h>

enum { PERIOD_MAX = 8 };

/* A frame with what was inlined into it. */
struct group {
	uint32_t frame;
	uint32_t first, count; /* its entries in the stack */
	uint32_t last;	       /* what it stands for last, counted from the outermost */
	uint32_t period;
};

static bool repeats_at(const struct group *out, uint32_t count, uint32_t period)
{
	for (uint32_t i = 1; i <= period; i++)
		if (out[count - i].frame != out[count - period - i].frame)
			return false;
	return true;
}

/* The least period at which the last of out[0..count) repeat; 0: they do not. */
static uint32_t period_of(const struct group *out, uint32_t count)
{
	for (uint32_t period = 1; period <= PERIOD_MAX && period <= count / 2; period++)
		if (repeats_at(out, count, period))
			return period;
	return 0;
}

/* The next frame further in than @end, an index into the stack. */
static struct group next_group(const struct seep_profile *profile,
			       const struct seep_profile_context *context, uint32_t end)
{
	struct group group = { .frame = context->stack[end - 1].frame, .first = end - 1 };

	while (group.first > 0 && profile->frames[context->stack[group.first - 1].frame].inlined)
		group.first--;
	group.count = end - group.first;
	return group;
}

/* The groups that stay, outermost first. */
static uint32_t fold(const struct seep_profile *profile, const struct seep_profile_context *context,
		     struct group *out)
{
	uint32_t count = 0, period;

	for (uint32_t end = context->stack_count, i = 0; end > 0; i++) {
		out[count] = next_group(profile, context, end);
		end = out[count].first;
		out[count++].last = i;
		period = period_of(out, count);
		if (period == 0)
			continue;
		for (uint32_t k = 1; k <= period; k++)
			out[count - period - k].last = out[count - k].last;
		out[count - period - 1].period = period;
		count -= period;
	}
	return count;
}

void seep_fold_recursion(const struct seep_profile *profile, struct seep_profile_context *context)
{
	struct group *groups = seep_xcalloc((size_t)context->stack_count + 1, sizeof(*groups));
	const uint32_t count = fold(profile, context, groups);
	uint32_t to = context->stack_count, folded = 0;

	/* What stays moves outwards, over what is dropped. */
	for (uint32_t i = 0; i < count; i++) {
		const struct group *from = &groups[i];
		const uint32_t now = from->last - i;
		struct seep_profile_stack_entry *entry;

		to -= from->count;
		memmove(&context->stack[to], &context->stack[from->first],
			from->count * sizeof(*context->stack));
		entry = &context->stack[to + from->count - 1];
		entry->period = (uint8_t)from->period;
		if (from->period)
			entry->repeats = (uint16_t)(now - folded < UINT16_MAX * from->period
							    ? (now - folded) / from->period
							    : UINT16_MAX);
		folded = now;
	}
	context->stack += to;
	context->stack_count -= to;
	free(groups);
}
