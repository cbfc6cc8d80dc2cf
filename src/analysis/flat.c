/* SPDX-License-Identifier: MIT */
/* One pass; a stamp per function keeps recursion from counting twice. */
#include "analysis/flat.h"

#include "analysis/rank.h"
#include "base/xalloc.h"

static void add(struct seep_flat_row *row, int64_t value, double square, int64_t blocks)
{
	row->inclusive_square += square;
	row->stacks++;
	seep_counts_sum(&row->inclusive, value);
	seep_counts_sum(&row->blocks, blocks);
}

static void add_context(struct seep_flat *flat, const struct seep_sites *sites,
			const struct seep_profile_context *context, enum seep_measure measure,
			uint32_t *stamps, uint32_t stamp)
{
	const struct seep_counts counts = seep_counts_of(context);
	const int64_t value = seep_counts_value(&counts, measure);
	const int64_t blocks = seep_counts_blocks(&counts, measure);
	const double square = seep_context_square(context, measure);
	struct seep_flat_row *blamed = &flat->unnamed;
	const struct seep_stack_part part = seep_sites_trim(sites, context->stack,
							    context->stack_count);

	if (part.end > 0)
		blamed = &flat->rows[sites->of_frame[context->stack[part.first].frame].function];
	else
		add(blamed, value, square, blocks);
	seep_counts_sum(&blamed->self, value);
	blamed->self_square += square;
	for (uint32_t i = 0; stamps != NULL && i < part.end; i++) {
		const uint32_t function = sites->of_frame[context->stack[i].frame].function;

		if (stamps[function] != stamp)
			add(&flat->rows[function], value, square, blocks);
		stamps[function] = stamp;
	}
}

struct seep_flat *seep_flat_new(const struct seep_sites *sites, enum seep_measure measure,
				bool inclusive)
{
	const struct seep_profile *profile = sites->profile;
	struct seep_flat *flat =
		seep_xcalloc(1, sizeof(*flat) + sites->function_count * sizeof(flat->rows[0]));
	SEEP_FREED uint32_t *stamps = inclusive
					      ? seep_xcalloc(sites->function_count, sizeof(*stamps))
					      : NULL;

	flat->count = sites->function_count;
	for (uint32_t i = 0; i < flat->count; i++) {
		flat->rows[i].frame = sites->frame_of_function[i];
		flat->rows[i].plumbing = sites->of_frame[flat->rows[i].frame].plumbing;
	}
	for (uint32_t i = 0; i < profile->context_count; i++)
		if (!profile->contexts[i].hidden)
			add_context(flat, sites, &profile->contexts[i], measure, stamps, i + 1);
	/* Where the program's own function stands inside an invoker, that is who has it. */
	for (uint32_t i = 0; i < flat->count; i++)
		flat->rows[i].plumbing |= flat->rows[i].self == 0 &&
					  sites->of_frame[flat->rows[i].frame].invoker;
	return flat;
}

uint32_t seep_flat_top(const struct seep_flat *flat, bool whole, uint32_t top, uint32_t *ret_top)
{
	struct seep_ranked *ranked = seep_xcalloc(flat->count, sizeof(*ranked));
	size_t count = 0;

	for (uint32_t i = 0; i < flat->count; i++) {
		const struct seep_flat_row *row = &flat->rows[i];

		if (row->self != 0 || (row->inclusive != 0 && (whole || !row->plumbing)))
			ranked[count++] = (struct seep_ranked){
				.value = row->self,
				.tie = UINT64_MAX - (uint64_t)row->inclusive,
				.index = i,
			};
	}
	return seep_rank_order(ranked, count, top, ret_top);
}
