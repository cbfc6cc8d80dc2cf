/* SPDX-License-Identifier: MIT */
/* What is said of growth, where several contexts are one stack to a reader. */
#include <stdlib.h>

#include "base/clock.h"
#include "view/growth_view.h"
#include "unit.h"

static const struct seep_profile_growth growing = {
	.verdict = SEEP_GROWTH_GROWING,
	.since_ns = SEEP_NS_PER_S,
	.until_ns = 61 * SEEP_NS_PER_S,
	.bytes = 60 << 10,
};
static const struct seep_profile_growth stale = {
	.verdict = SEEP_GROWTH_STALE,
	.since_ns = SEEP_NS_PER_S,
	.until_ns = 601 * SEEP_NS_PER_S,
	.bytes = 500,
	.blocks = 5,
};
static const struct seep_profile_growth freed_late = {
	.since_ns = SEEP_NS_PER_S,
	.until_ns = SEEP_NS_PER_S,
	.freed_late = 3,
};

/* A profile with contexts of one stack, a growth each. */
static struct seep_profile *profile_of(const struct seep_profile_growth *const *growths,
				       uint32_t count)
{
	static struct seep_profile_stack_entry entry;
	struct seep_profile *profile = seep_profile_new();
	struct seep_profile_frame *frame = seep_profile_add(profile, SEEP_ARRAY_FRAMES);

	frame->function = "keep";
	frame->file = "keep.c";
	frame->line = 7;
	for (uint32_t i = 0; i < count; i++) {
		struct seep_profile_context *context = seep_profile_add(profile,
									SEEP_ARRAY_CONTEXTS);

		context->id = i + 1;
		context->allocs = 100;
		context->frees = 50;
		context->stack = &entry;
		context->stack_count = 1;
		context->growth = seep_profile_calloc(profile, 1, sizeof(*context->growth));
		*context->growth = *growths[i];
	}
	return profile;
}

/* The first line of what is shown, and the answer above it. */
static void check(const struct seep_profile_growth *const *growths, uint32_t count,
		  const char *figures, const char *answer)
{
	const struct seep_view_options options = { .by = SEEP_BY_LIVE };
	struct seep_profile *profile = profile_of(growths, count);
	struct seep_sites *sites = seep_sites_new(profile);
	struct seep_growth_view growth;
	struct seep_view view;
	char *text;

	profile->growth_after_ns = 60 * SEEP_NS_PER_S;
	profile->process.ended = SEEP_ENDED_EXIT;
	seep_view_init(&view, profile, sites, &options);
	seep_growth_view_init(&growth, &view, 0);
	assert_int_equal(growth.count, 1);
	assert_string_equal(growth.items[0].stack.figures, figures);
	text = seep_growth_answer(&growth, profile);
	assert_string_equal(text, answer);
	free(text);
	seep_growth_view_done(&growth);
	seep_view_done(&view);
	seep_sites_free(sites);
	seep_profile_free(profile);
}

TEST(the_gravest_verdict_counts_in_any_order)
{
	const struct seep_profile_growth *orders[][3] = {
		{ &growing, &stale, &freed_late },
		{ &freed_late, &stale, &growing },
		{ &stale, &growing, &freed_late },
	};

	for (size_t i = 0; i < sizeof(orders) / sizeof(orders[0]); i++)
		check(orders[i], 3, "GROWING: +60.0 KB/min for 1 min, 150 of 300 blocks ever freed",
		      "GROWING: 1 call stack, 60.0 KB at +60.0 KB/min");
	for (size_t i = 0; i < 2; i++)
		check(orders[i] + 1 - i, 2,
		      "STALE: 5 blocks (500 B) older than 10 min, 100 of 200 blocks freed",
		      "No call stack grew for 1 min; 5 stale blocks");
}

TEST(growth_of_one_stack_is_summed)
{
	const struct seep_profile_growth *both[] = { &growing, &growing };

	check(both, 2, "GROWING: +120 KB/min for 1 min, 100 of 200 blocks ever freed",
	      "GROWING: 1 call stack, 120 KB at +120 KB/min");
}
