/* SPDX-License-Identifier: MIT */
/*
 * Rows summed by context. A context's live figures are the sums of its rows' live figures, so
 * that its epochs add up to them.
 */
#include "profile/ledger_parts.h"

enum { THREAD_NAME_BYTES_MAX = 64 };

static bool is_zero(const struct seep_row_sum *sum)
{
	return (sum->allocs | sum->alloc_bytes | sum->frees | sum->freed_bytes |
		sum->temporaries) == 0;
}

/* @from: NULL for the two that have no stack. */
static void describe(struct seep_ledger_load *load, const struct ledger_context *from,
		     struct seep_profile_context *to)
{
	uint32_t flags = from ? LEDGER_GET(from->flags) : 0;
	uint32_t piece;

	to->no_stack = to->id == LEDGER_CONTEXT_NO_STACK + 1;
	to->other = to->id == LEDGER_CONTEXT_OTHER + 1;
	if (!from)
		return;
	to->kind = from->kind;
	if (to->kind < LEDGER_KIND_COUNT && ledger_kind_is_aligned(to->kind) &&
	    from->align_log2 < 64)
		to->align_log2 = from->align_log2;
	to->cut = (flags & LEDGER_CONTEXT_CUT) != 0;
	to->by_frame_pointer = (flags & LEDGER_CONTEXT_FRAME_POINTER) != 0;
	to->first_ns = from->first_ns;
	to->thread = seep_ledger_text(load, from->thread, THREAD_NAME_BYTES_MAX);
	to->damaged = !seep_ledger_stack(load, from->leaf, &piece);
	to->truncated = to->damaged || (flags & LEDGER_CONTEXT_TRUNCATED);
	seep_builder_stack(&load->builder, to, piece);
	seep_ledger_count_repeats(load, from->leaf, to);
}

/*
 * The place of the context with this index in the profile, whose it becomes; 0 if it cannot be had.
 */
static uint32_t place_of(struct seep_ledger_load *load, uint32_t index)
{
	struct seep_profile_context *context;
	const struct ledger_context *item = NULL;

	if (index >= load->place_count)
		return 0;
	if (load->places[index])
		return load->places[index];
	if (index >= LEDGER_CONTEXT_FIRST) {
		item = ledger_view_context(&load->view, index);
		if (!item || !(LEDGER_GET(item->flags) & LEDGER_CONTEXT_READY))
			return 0;
	}
	context = seep_profile_add(load->profile, SEEP_ARRAY_CONTEXTS);
	context->id = index + 1;
	describe(load, item, context);
	return load->places[index] = load->profile->context_count;
}

/* Figures whose context cannot be had are kept, under "no stack". */
static uint32_t owner_of(struct seep_ledger_load *load, uint64_t row)
{
	const struct ledger_row *item = ledger_view_row(&load->view, row);
	uint32_t ready = item ? LEDGER_GET(item->context_ready) : 0;
	uint32_t place = ready ? place_of(load, ready - 1) : 0;

	if (place)
		return place;
	load->rows.in_doubt[row] = 1;
	return place_of(load, LEDGER_CONTEXT_NO_STACK);
}

/* Of what was there before, nothing but the figures changes. */
static void begin_contexts(struct seep_ledger_load *load)
{
	for (uint32_t i = 0; i < load->profile->context_count; i++) {
		struct seep_profile_context *context = &load->profile->contexts[i];

		context->allocs = context->alloc_bytes = 0;
		context->frees = context->freed_bytes = 0;
		context->temporary = 0;
		context->live_blocks = context->live_bytes = 0;
		context->peak_blocks = context->peak_bytes = 0;
		context->epoch_count = 0;
		context->in_doubt = false;
	}
}

/* peak_* wrap here: a row's share may be negative. lift_peak() comes after the last row. */
static void add_row(struct seep_ledger_load *load, uint64_t row, const struct seep_profile_row *of)
{
	const struct seep_row_sum *sum = &load->rows.sums[row];
	const struct seep_profile_epoch live = {
		.epoch = of->epoch,
		.blocks = sum->allocs - sum->frees,
		.bytes = sum->alloc_bytes - sum->freed_bytes,
	};
	struct seep_profile_context *context = &load->profile->contexts[of->context - 1];

	context->allocs += sum->allocs;
	context->alloc_bytes += sum->alloc_bytes;
	context->frees += sum->frees;
	context->freed_bytes += sum->freed_bytes;
	context->temporary += sum->temporaries;
	context->live_blocks += live.blocks;
	context->live_bytes += live.bytes;
	context->peak_blocks += (uint64_t)sum->peak_blocks;
	context->peak_bytes += (uint64_t)sum->peak_bytes;
	context->in_doubt |= load->rows.in_doubt[row] != 0;
	if (live.blocks | live.bytes)
		seep_builder_epoch(&load->builder, of->context - 1, &live);
}

static uint64_t between(uint64_t value, uint64_t max)
{
	if ((int64_t)value < 0)
		return 0;
	return value < max ? value : max;
}

/* Out of bounds where a cut was read while it was made, or written over. */
static void lift_peak(struct seep_profile_context *context, bool peak_is_now)
{
	if (peak_is_now) {
		context->peak_blocks = context->live_blocks;
		context->peak_bytes = context->live_bytes;
	}
	context->peak_blocks = between(context->peak_blocks, context->allocs);
	context->peak_bytes = between(context->peak_bytes, context->alloc_bytes);
	context->in_doubt |= context->damaged;
}

void seep_ledger_load_contexts(struct seep_ledger_load *load)
{
	struct seep_profile *profile = load->profile;

	load->places =
		seep_ledger_grow(load->places, &load->place_count,
				 load->view.count[LEDGER_TABLE_CONTEXTS] + LEDGER_CONTEXT_FIRST,
				 sizeof(*load->places));
	profile->first_row = load->view.header.first_row;
	if (profile->row_count < load->rows.count)
		(void)seep_profile_add_items(profile, SEEP_ARRAY_ROWS,
					     (uint32_t)load->rows.count - profile->row_count);
	begin_contexts(load);
	for (uint64_t i = 0; i < load->rows.count; i++) {
		struct seep_profile_row *row = &profile->rows[i];
		const struct ledger_row *item = ledger_view_row(&load->view, i);

		row->context = is_zero(&load->rows.sums[i]) ? 0 : owner_of(load, i);
		row->epoch = item ? LEDGER_GET(item->epoch) : 0;
		if (row->context)
			add_row(load, i, row);
	}
	for (uint32_t i = 0; i < profile->context_count; i++)
		lift_peak(&profile->contexts[i], load->rows.peak_is_now);
}
