/* SPDX-License-Identifier: MIT */
/* One pass; a stamp per function keeps recursion from counting twice. */
#include "analysis/flat.h"

#include <stdlib.h>

#include "analysis/rank.h"
#include "base/xalloc.h"

static void add_context(struct seep_flat *flat, const struct seep_sites *sites,
			const struct seep_profile_context *context, uint32_t *stamps,
			uint32_t stamp)
{
	const struct seep_counts counts = seep_counts_of(context);
	uint32_t first;
	uint32_t end;

	seep_counts_add(&flat->total, &counts);
	if (context->stack_count == 0) {
		seep_counts_add(&flat->unnamed, &counts);
		return;
	}
	seep_sites_trim(sites, context->stack, context->stack_count, &first, &end);
	seep_counts_add(&flat->rows[sites->of_frame[context->stack[first].frame].function].self,
			&counts);
	for (uint32_t i = 0; i < end; i++) {
		const uint32_t function = sites->of_frame[context->stack[i].frame].function;

		if (stamps[function] == stamp)
			continue;
		stamps[function] = stamp;
		flat->rows[function].stacks++;
		seep_counts_add(&flat->rows[function].inclusive, &counts);
	}
}

struct seep_flat *seep_flat_new(const struct seep_sites *sites)
{
	const struct seep_profile *profile = sites->profile;
	struct seep_flat *flat = seep_xcalloc(1, sizeof(*flat));
	uint32_t *stamps = seep_xcalloc(sites->function_count, sizeof(*stamps));

	seep_counts_add_context(&flat->total, &profile->left_out);
	flat->rows = seep_xcalloc(sites->function_count, sizeof(*flat->rows));
	flat->count = sites->function_count;
	for (uint32_t i = 0; i < flat->count; i++) {
		flat->rows[i].frame = sites->frame_of_function[i];
		flat->rows[i].plumbing = sites->of_frame[flat->rows[i].frame].plumbing;
	}
	for (uint32_t i = 0; i < profile->context_count; i++)
		add_context(flat, sites, &profile->contexts[i], stamps, i + 1);
	free(stamps);
	return flat;
}

void seep_flat_free(struct seep_flat *flat)
{
	if (flat == NULL)
		return;
	free(flat->rows);
	free(flat);
}

uint32_t seep_flat_top(const struct seep_flat *flat, enum seep_measure measure, bool whole,
		       uint32_t top, uint32_t *ret_top)
{
	struct seep_ranked *ranked = seep_xcalloc(flat->count, sizeof(*ranked));
	size_t count = 0;

	for (uint32_t i = 0; i < flat->count; i++) {
		const struct seep_flat_row *row = &flat->rows[i];
		const int64_t inclusive = seep_counts_value(&row->inclusive, measure);
		const int64_t self = seep_counts_value(&row->self, measure);

		if (inclusive != 0 && (self != 0 || whole || !row->plumbing))
			ranked[count++] = (struct seep_ranked){
				.value = self,
				.tie = UINT64_MAX - (uint64_t)inclusive,
				.index = i,
			};
	}
	count = seep_rank_top(ranked, count, top);
	for (size_t i = 0; i < count; i++)
		ret_top[i] = ranked[i].index;
	free(ranked);
	return (uint32_t)count;
}
