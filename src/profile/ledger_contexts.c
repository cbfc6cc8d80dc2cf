/* SPDX-License-Identifier: MIT */
/*
 * Rows summed by context. A context's live figures are the sums of its rows' live figures, so
 * that its epochs add up to them.
 */
#include "profile/ledger_parts.h"

#include <stdlib.h>
#include <string.h>

enum { THREAD_NAME_BYTES_MAX = 64, FALLS_MAX = 1000 };

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
static uint32_t owner_of(struct seep_ledger_load *load, uint32_t row)
{
	const uint32_t ready = load->rows.sums[row].context;
	uint32_t place = ready ? place_of(load, ready - 1) : 0;

	if (place)
		return place;
	load->rows.in_doubt[row] = 1;
	return place_of(load, LEDGER_CONTEXT_NO_STACK);
}

/* Where @epoch of the context is, or belongs. */
static uint32_t find_epoch(const struct seep_profile_context *context, uint32_t epoch)
{
	uint32_t at = context->epoch_count;

	/* What changes is young, most often. */
	while (at > 0 && context->epochs[at - 1].epoch >= epoch)
		at--;
	return at;
}

static void add_epoch(struct seep_ledger_load *load, uint32_t place,
		      const struct seep_profile_epoch *more)
{
	struct seep_profile_context *context = &load->profile->contexts[place - 1];
	uint32_t *room = &load->peaks[place - 1].epoch_room;
	const uint32_t at = find_epoch(context, more->epoch), behind = context->epoch_count - at;
	struct seep_profile_epoch *epoch;

	if ((more->blocks | more->bytes) == 0)
		return;
	if (behind == 0 || context->epochs[at].epoch != more->epoch) {
		if (context->epoch_count == *room) {
			*room = *room ? *room * 2 : 1;
			epoch = seep_profile_calloc(load->profile, *room, sizeof(*epoch));
			if (context->epoch_count)
				memcpy(epoch, context->epochs,
				       context->epoch_count * sizeof(*epoch));
			context->epochs = epoch;
		}
		memmove(&context->epochs[at + 1], &context->epochs[at],
			behind * sizeof(*context->epochs));
		context->epochs[at] = (struct seep_profile_epoch){ .epoch = more->epoch };
		context->epoch_count++;
	}
	epoch = &context->epochs[at];
	epoch->blocks += more->blocks;
	epoch->bytes += more->bytes;
	if ((epoch->blocks | epoch->bytes) != 0)
		return;
	context->epoch_count--;
	memmove(epoch, epoch + 1, (context->epoch_count - at) * sizeof(*epoch));
}

/* @now without @before: figures wrap, and come back. */
static struct seep_row_sum difference(const struct seep_row_sum *now,
				      const struct seep_row_sum *before)
{
	return (struct seep_row_sum){
		.epoch = now->epoch,
		.allocs = now->allocs - before->allocs,
		.alloc_bytes = now->alloc_bytes - before->alloc_bytes,
		.frees = now->frees - before->frees,
		.freed_bytes = now->freed_bytes - before->freed_bytes,
		.temporaries = now->temporaries - before->temporaries,
		.peak_blocks =
			(int64_t)((uint64_t)now->peak_blocks - (uint64_t)before->peak_blocks),
		.peak_bytes = (int64_t)((uint64_t)now->peak_bytes - (uint64_t)before->peak_bytes),
	};
}

static void add_row(struct seep_ledger_load *load, uint32_t place, const struct seep_row_sum *more)
{
	struct seep_profile_context *context = &load->profile->contexts[place - 1];
	struct seep_ledger_peak *peak = &load->peaks[place - 1];
	const struct seep_profile_epoch live = {
		.epoch = more->epoch,
		.blocks = more->allocs - more->frees,
		.bytes = more->alloc_bytes - more->freed_bytes,
	};

	context->allocs += more->allocs;
	context->alloc_bytes += more->alloc_bytes;
	context->frees += more->frees;
	context->freed_bytes += more->freed_bytes;
	context->temporary += more->temporaries;
	context->live_blocks += live.blocks;
	context->live_bytes += live.bytes;
	peak->blocks = (int64_t)((uint64_t)peak->blocks + (uint64_t)more->peak_blocks);
	peak->bytes = (int64_t)((uint64_t)peak->bytes + (uint64_t)more->peak_bytes);
	peak->changed = true;
	add_epoch(load, place, &live);
}

/* A row that begins to have something, or has got a context, may make a new one. */
static void move_row(struct seep_ledger_load *load, const struct seep_row_change *change)
{
	static const struct seep_row_sum nothing;
	struct seep_profile *profile = load->profile;
	const struct seep_row_sum *now = &load->rows.sums[change->row];
	const struct seep_row_sum *before = change->before ? &load->rows.before[change->before - 1]
							   : &nothing;
	const uint32_t old = profile->rows[change->row].context;
	struct seep_row_sum more;
	uint32_t place;

	/* Most that slots have something of did nothing since. Not so what only stands in. */
	if (old && now->context && now->context <= load->place_count &&
	    load->places[now->context - 1] == old && memcmp(before, now, sizeof(*now)) == 0)
		return;
	place = is_zero(now) ? 0 : owner_of(load, change->row);
	profile->rows[change->row] = (struct seep_profile_row){ place, now->epoch };
	if (profile->context_count > load->peak_count)
		load->peaks = seep_ledger_grow(load->peaks, &load->peak_count,
					       profile->context_count * UINT64_C(3) / 2,
					       sizeof(*load->peaks));
	if (old && (old != place || now->epoch != before->epoch)) {
		more = difference(&nothing, before);
		more.epoch = before->epoch;
		add_row(load, old, &more);
		before = &nothing;
	}
	if (place) {
		more = difference(now, before);
		add_row(load, place, &more);
	}
}

static uint64_t between(int64_t value, uint64_t max)
{
	if (value < 0)
		return 0;
	return (uint64_t)value < max ? (uint64_t)value : max;
}

/* Out of bounds where a cut was read while it was made, or written over. */
static void lift_peak(struct seep_profile_context *context, const struct seep_ledger_peak *peak,
		      bool peak_is_now)
{
	context->peak_blocks = between(peak_is_now ? (int64_t)context->live_blocks : peak->blocks,
				       context->allocs);
	context->peak_bytes = between(peak_is_now ? (int64_t)context->live_bytes : peak->bytes,
				      context->alloc_bytes);
	context->in_doubt |= context->damaged;
}

static int by_epoch(const void *left, const void *right, void *user)
{
	const struct seep_row_sum *sums = user;
	const uint32_t a = sums[((const struct seep_row_change *)left)->row].epoch;
	const uint32_t b = sums[((const struct seep_row_change *)right)->row].epoch;

	return (a > b) - (a < b);
}

/*
 * Rows are made in the order of their epochs, but for races; each epoch that comes before others of
 * its context moves those. A ledger that was written over may have any order.
 */
static void order_changes(struct seep_rows *rows)
{
	uint64_t falls = 0;

	for (uint64_t i = 1; i < rows->change_count; i++)
		falls += by_epoch(&rows->changes[i - 1], &rows->changes[i], rows->sums) > 0;
	if (falls > FALLS_MAX)
		qsort_r(rows->changes, rows->change_count, sizeof(*rows->changes), by_epoch,
			rows->sums);
}

void seep_ledger_load_contexts(struct seep_ledger_load *load)
{
	struct seep_profile *profile = load->profile;
	struct seep_rows *rows = &load->rows;

	order_changes(rows);
	load->places =
		seep_ledger_grow(load->places, &load->place_count,
				 load->view.count[LEDGER_TABLE_CONTEXTS] + LEDGER_CONTEXT_FIRST,
				 sizeof(*load->places));
	profile->first_row = load->view.header.first_row;
	if (profile->row_count < rows->count)
		(void)seep_profile_add_items(profile, SEEP_ARRAY_ROWS,
					     (uint32_t)rows->count - profile->row_count);
	for (uint32_t i = 0; i < profile->context_count && load->any_in_doubt; i++)
		profile->contexts[i].in_doubt = profile->contexts[i].damaged;
	load->any_in_doubt = false;
	for (uint64_t i = 0; i < rows->change_count; i++)
		move_row(load, &rows->changes[i]);
	for (uint64_t i = 0; i < rows->change_count; i++) {
		const uint32_t place = profile->rows[rows->changes[i].row].context;

		if (place && rows->in_doubt[rows->changes[i].row])
			profile->contexts[place - 1].in_doubt = load->any_in_doubt = true;
	}
	for (uint32_t i = 0; i < profile->context_count; i++) {
		if (load->peaks[i].changed || rows->peak_is_now != load->peak_was_now)
			lift_peak(&profile->contexts[i], &load->peaks[i], rows->peak_is_now);
		load->peaks[i].changed = false;
	}
	load->peak_was_now = rows->peak_is_now;
}
