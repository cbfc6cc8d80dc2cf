/* SPDX-License-Identifier: MIT */
/*
 * A heap of the best so far, the worst of them at its root: every other item is compared with the
 * root once. No input makes it slow.
 */
#include "analysis/rank.h"

#include "base/xalloc.h"

#include <stdbool.h>
#include <stdlib.h>

static bool ranks_before(const struct seep_ranked *a, const struct seep_ranked *b)
{
	if (a->value != b->value)
		return a->value > b->value;
	if (a->tie != b->tie)
		return a->tie < b->tie;
	return a->index < b->index;
}

static int compare(const void *a, const void *b)
{
	return ranks_before(b, a) - ranks_before(a, b);
}

static void swap(struct seep_ranked *a, struct seep_ranked *b)
{
	const struct seep_ranked kept = *a;

	*a = *b;
	*b = kept;
}

/* Let items[at] sink until nothing below it ranks behind it. */
static void sink(struct seep_ranked *items, size_t count, size_t at)
{
	for (;;) {
		size_t worst = at;

		for (size_t child = 2 * at + 1; child <= 2 * at + 2 && child < count; child++)
			if (ranks_before(&items[worst], &items[child]))
				worst = child;
		if (worst == at)
			return;
		swap(&items[at], &items[worst]);
		at = worst;
	}
}

size_t seep_rank_top(struct seep_ranked *items, size_t count, size_t top)
{
	if (top > count)
		top = count;
	if (top == 0)
		return 0;
	if (top < count) {
		for (size_t i = top / 2; i-- > 0;)
			sink(items, top, i);
		for (size_t i = top; i < count; i++) {
			if (!ranks_before(&items[i], &items[0]))
				continue;
			swap(&items[i], &items[0]);
			sink(items, top, 0);
		}
	}
	qsort(items, top, sizeof(*items), compare);
	return top;
}

uint32_t seep_rank_order(struct seep_ranked *items, size_t count, uint32_t top, uint32_t *ret_order)
{
	const uint32_t ordered = (uint32_t)seep_rank_top(items, count, top);

	for (uint32_t i = 0; i < ordered; i++)
		ret_order[i] = items[i].index;
	free(items);
	return ordered;
}

uint32_t seep_rank_contexts(const struct seep_profile *profile, enum seep_measure measure,
			    uint32_t top, uint32_t *ret_order)
{
	struct seep_ranked *ranked = seep_xcalloc(profile->context_count, sizeof(*ranked));

	for (uint32_t i = 0; i < profile->context_count; i++)
		ranked[i] = (struct seep_ranked){
			.value = seep_context_value(&profile->contexts[i], measure),
			.tie = profile->contexts[i].hash,
			.index = i,
		};
	return seep_rank_order(ranked, profile->context_count, top, ret_order);
}
