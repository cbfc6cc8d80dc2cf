/* SPDX-License-Identifier: MIT */
/*
 * Rows summed by context. A context's live figures are the sums of its rows' live figures, so
 * that its epochs add up to them.
 */
#include "profile/ledger_parts.h"

#include "profile/context_hash.h"

enum { THREAD_NAME_BYTES_MAX = 64 };

/* What is known of a context: nothing yet, all that it will ever say, or that its stack is damaged. */
enum { UNKNOWN = 0, WHOLE = 1, DAMAGED = 2 };

enum { NEW = UINT32_MAX }; /* in places: to be put into profile->contexts */

#define LOAD(field) atomic_load_explicit(&(field), memory_order_acquire)

static bool is_zero(const struct seep_row_sum *sum)
{
	return (sum->allocs | sum->alloc_bytes | sum->frees | sum->freed_bytes |
		sum->temporaries) == 0;
}

static void make_room(struct seep_ledger_load *load)
{
	struct seep_ledger_contexts *c = &load->contexts;
	uint64_t count = load->view.count[LEDGER_TABLE_CONTEXTS];

	if (count < LEDGER_CONTEXT_FIRST)
		count = LEDGER_CONTEXT_FIRST;
	if (count >= UINT32_MAX)
		count = UINT32_MAX - 1;
	if (count < c->count)
		count = c->count; /* never in a ledger that is well */
	c->places = seep_ledger_grow(c->places, c->count, count, sizeof(*c->places));
	c->described = seep_ledger_grow(c->described, c->count, count, sizeof(*c->described));
	c->count = count;
	load->profile->first_row = load->view.header.first_row;
	if (load->profile->row_count < load->rows.count)
		(void)seep_profile_add_items(load->profile, SEEP_ARRAY_ROWS,
					     (uint32_t)load->rows.count - load->profile->row_count);
}

/* Figures whose context cannot be had are kept, under "no stack". Returns how many are new. */
static uint32_t find_owners(struct seep_ledger_load *load)
{
	struct seep_ledger_contexts *c = &load->contexts;
	struct seep_rows *rows = &load->rows;
	uint32_t *owners = load->profile->rows; /* context index + 1 is a context's id */
	uint32_t added = 0;

	for (uint64_t i = 0; i < rows->count; i++) {
		const struct ledger_row *row = ledger_view_row(&load->view, i);
		uint32_t ready = row ? LOAD(row->context_ready) : 0;

		owners[i] = 0;
		if (is_zero(&rows->sums[i]))
			continue;
		if (ready == 0 || ready > c->count) {
			ready = LEDGER_CONTEXT_NO_STACK + 1;
			rows->in_doubt[i] = 1;
		}
		owners[i] = ready;
		if (c->places[ready - 1] == 0) {
			c->places[ready - 1] = (uint32_t)NEW;
			added++;
		}
	}
	return added;
}

/* In the order of the ledger, from the last one back; those before the first new one stay. */
static void insert_new(struct seep_ledger_load *load, uint32_t added)
{
	struct seep_profile *profile = load->profile;
	uint32_t *places = load->contexts.places;
	uint32_t at;

	(void)seep_profile_add_items(profile, SEEP_ARRAY_CONTEXTS, added);
	at = profile->context_count;
	for (uint64_t i = load->contexts.count; added > 0;) {
		if (places[--i] == 0)
			continue;
		at--;
		if (places[i] == (uint32_t)NEW) {
			profile->contexts[at] =
				(struct seep_profile_context){ .id = (uint32_t)i + 1 };
			added--;
		} else {
			profile->contexts[at] = profile->contexts[places[i] - 1];
		}
		places[i] = at + 1;
	}
}

static void describe(struct seep_ledger_load *load, struct seep_profile_context *to)
{
	const uint32_t index = to->id - 1;
	const struct ledger_context *from = ledger_view_context(&load->view, index);
	uint32_t flags = from ? LOAD(from->flags) : 0;
	uint32_t piece;

	to->no_stack = index == LEDGER_CONTEXT_NO_STACK;
	to->other = index == LEDGER_CONTEXT_OTHER;
	to->hash = 0;
	load->contexts.described[index] = WHOLE;
	if (to->no_stack || to->other)
		return;
	to->truncated = true;
	if (!(flags & LEDGER_CONTEXT_READY)) {
		load->contexts.described[index] = UNKNOWN;
		to->in_doubt = true;
		return;
	}
	to->truncated = (flags & LEDGER_CONTEXT_TRUNCATED) != 0;
	to->kind = from->kind < LEDGER_KIND_COUNT ? from->kind : LEDGER_KIND_MALLOC;
	if (ledger_kind_is_aligned(to->kind) && from->align_log2 < 64)
		to->align_log2 = from->align_log2;
	to->cut = (flags & LEDGER_CONTEXT_CUT) != 0;
	to->by_frame_pointer = (flags & LEDGER_CONTEXT_FRAME_POINTER) != 0;
	to->first_ns = from->first_ns;
	to->thread = seep_ledger_text(load, from->thread, THREAD_NAME_BYTES_MAX);
	if (!seep_ledger_stack(load, from->leaf, &piece)) {
		load->contexts.described[index] = DAMAGED;
		to->in_doubt = true;
		to->truncated = true;
	}
	seep_builder_stack(&load->builder, to, piece);
}

/* Whose figures come next. Returns whether any was not described before. */
static bool begin_contexts(struct seep_ledger_load *load)
{
	bool is_new = false;

	for (uint32_t i = 0; i < load->profile->context_count; i++) {
		struct seep_profile_context *context = &load->profile->contexts[i];
		uint8_t described = load->contexts.described[context->id - 1];

		context->allocs = context->alloc_bytes = 0;
		context->frees = context->freed_bytes = 0;
		context->temporary = 0;
		context->live_blocks = context->live_bytes = 0;
		context->peak_blocks = context->peak_bytes = 0;
		context->epoch_count = 0;
		context->in_doubt = described == DAMAGED;
		if (described == UNKNOWN) {
			describe(load, context);
			is_new = true;
		}
	}
	return is_new;
}

/* peak_* wrap here: a row's share may be negative. lift_peak() comes after the last row. */
static void add_row(struct seep_ledger_load *load, uint64_t row)
{
	const struct seep_row_sum *sum = &load->rows.sums[row];
	const struct ledger_row *item = ledger_view_row(&load->view, row);
	const struct seep_profile_epoch live = {
		.epoch = item ? LOAD(item->epoch) : 0,
		.blocks = sum->allocs - sum->frees,
		.bytes = sum->alloc_bytes - sum->freed_bytes,
	};
	uint32_t place = load->contexts.places[load->profile->rows[row] - 1] - 1;
	struct seep_profile_context *context = &load->profile->contexts[place];

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
		seep_builder_epoch(&load->builder, place, &live);
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
}

void seep_ledger_load_contexts(struct seep_ledger_load *load)
{
	struct seep_profile *profile = load->profile;
	uint32_t added;
	bool is_new;

	make_room(load);
	added = find_owners(load);
	if (added > 0)
		insert_new(load, added);
	is_new = begin_contexts(load);
	for (uint64_t i = 0; i < load->rows.count; i++)
		if (profile->rows[i])
			add_row(load, i);
	for (uint32_t i = 0; i < profile->context_count; i++)
		lift_peak(&profile->contexts[i], load->rows.peak_is_now);
	seep_builder_place_epochs(&load->builder);
	if (is_new)
		seep_profile_hash_contexts(profile);
}
