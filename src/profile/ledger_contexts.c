/* SPDX-License-Identifier: MIT */
/*
 * Rows summed by context. A context's live figures are the sums of its rows' live figures, so
 * that its epochs add up to them.
 */
#include "profile/ledger_parts.h"

#include "base/arena.h"
#include "profile/context_hash.h"
#include "profile/ledger_stacks.h"

#include <stdlib.h>

enum { THREAD_NAME_BYTES_MAX = 64 };

#define LOAD(field) atomic_load_explicit(&(field), memory_order_acquire)

struct contexts {
	struct seep_ledger_load *load;
	uint32_t *places; /* by context index: index in profile->contexts + 1; 0 = left out */
	uint32_t *owners; /* by row index: context index + 1; 0 = nothing in that row */
	uint64_t count;	  /* context indices */
};

static bool is_zero(const struct seep_row_sum *sum)
{
	return (sum->allocs | sum->alloc_bytes | sum->frees | sum->freed_bytes |
		sum->temporaries) == 0;
}

/* Figures whose context cannot be had are kept, under "no stack". */
static void find_owners(struct contexts *c)
{
	struct seep_rows *rows = &c->load->rows;

	for (uint64_t i = 0; i < rows->count; i++) {
		const struct ledger_row *row = ledger_view_row(&c->load->view, i);
		uint32_t ready = row ? LOAD(row->context_ready) : 0;

		if (is_zero(&rows->sums[i]))
			continue;
		if (ready == 0 || ready > c->count) {
			ready = LEDGER_CONTEXT_NO_STACK + 1;
			rows->in_doubt[i] = 1;
		}
		c->owners[i] = ready;
		c->places[ready - 1] = 1;
	}
}

static uint32_t assign_places(struct contexts *c)
{
	uint32_t used = 0;

	for (uint64_t i = 0; i < c->count; i++)
		if (c->places[i])
			c->places[i] = ++used;
	return used;
}

static struct seep_profile_context *owner_of_row(struct contexts *c, uint64_t row)
{
	uint32_t owner = c->owners[row];

	return owner ? &c->load->profile->contexts[c->places[owner - 1] - 1] : NULL;
}

static void live_of_row(struct contexts *c, uint64_t row, struct seep_profile_epoch *live)
{
	const struct seep_row_sum *sum = &c->load->rows.sums[row];
	const struct ledger_row *item = ledger_view_row(&c->load->view, row);

	live->epoch = item ? LOAD(item->epoch) : 0;
	live->blocks = sum->allocs - sum->frees;
	live->bytes = sum->alloc_bytes - sum->freed_bytes;
}

/* peak_* wrap here: a row's share may be negative. lift_peaks() comes after the last row. */
static void add_row(struct contexts *c, uint64_t row)
{
	const struct seep_row_sum *sum = &c->load->rows.sums[row];
	struct seep_profile_context *context = owner_of_row(c, row);
	struct seep_profile_epoch live;

	if (!context)
		return;
	live_of_row(c, row, &live);
	context->allocs += sum->allocs;
	context->alloc_bytes += sum->alloc_bytes;
	context->frees += sum->frees;
	context->freed_bytes += sum->freed_bytes;
	context->temporary += sum->temporaries;
	context->live_blocks += live.blocks;
	context->live_bytes += live.bytes;
	context->peak_blocks += (uint64_t)sum->peak_blocks;
	context->peak_bytes += (uint64_t)sum->peak_bytes;
	context->in_doubt |= c->load->rows.in_doubt[row] != 0;
	context->epoch_count += (live.blocks | live.bytes) != 0;
}

static void lift_peaks(struct seep_profile_context *context, bool peak_is_now)
{
	if (peak_is_now) {
		context->peak_blocks = context->live_blocks;
		context->peak_bytes = context->live_bytes;
	}
	if ((int64_t)context->peak_blocks < 0)
		context->peak_blocks = 0;
	if ((int64_t)context->peak_bytes < 0)
		context->peak_bytes = 0;
	/* A cut that was read while it was made, or written over. */
	if (context->peak_blocks > context->allocs)
		context->peak_blocks = context->allocs;
	if (context->peak_bytes > context->alloc_bytes)
		context->peak_bytes = context->alloc_bytes;
}

static void add_epoch(struct contexts *c, uint64_t row)
{
	struct seep_profile_context *context = owner_of_row(c, row);
	struct seep_profile_epoch live;

	if (!context)
		return;
	live_of_row(c, row, &live);
	if ((live.blocks | live.bytes) != 0)
		context->epochs[context->epoch_count++] = live;
}

static int by_epoch(const void *a, const void *b)
{
	const struct seep_profile_epoch *left = a;
	const struct seep_profile_epoch *right = b;

	return (left->epoch > right->epoch) - (left->epoch < right->epoch);
}

/* Threads may have raced for the row of one epoch: then it has two. */
static void merge_epochs(struct seep_profile_context *context)
{
	uint32_t used = 0;

	if (context->epoch_count < 2)
		return;
	qsort(context->epochs, context->epoch_count, sizeof(*context->epochs), by_epoch);
	for (uint32_t i = 1; i < context->epoch_count; i++) {
		if (context->epochs[i].epoch == context->epochs[used].epoch) {
			context->epochs[used].blocks += context->epochs[i].blocks;
			context->epochs[used].bytes += context->epochs[i].bytes;
		} else {
			context->epochs[++used] = context->epochs[i];
		}
	}
	context->epoch_count = used + 1;
}

static void list_epochs(struct contexts *c)
{
	struct seep_profile *profile = c->load->profile;

	for (uint32_t i = 0; i < profile->context_count; i++) {
		struct seep_profile_context *context = &profile->contexts[i];

		context->epochs = seep_profile_calloc(profile, context->epoch_count,
						      sizeof(*context->epochs));
		context->epoch_count = 0;
	}
	for (uint64_t i = 0; i < c->load->rows.count; i++)
		add_epoch(c, i);
	for (uint32_t i = 0; i < profile->context_count; i++)
		merge_epochs(&profile->contexts[i]);
}

static void describe(struct contexts *c, uint64_t index, struct seep_stacks *stacks,
		     struct seep_profile_context *to)
{
	const struct ledger_context *from = ledger_view_context(&c->load->view, index);
	uint32_t flags = from ? LOAD(from->flags) : 0;
	const char *name;

	to->id = (uint32_t)index + 1;
	to->no_stack = index == LEDGER_CONTEXT_NO_STACK;
	to->other = index == LEDGER_CONTEXT_OTHER;
	if (to->no_stack || to->other)
		return;
	if (!(flags & LEDGER_CONTEXT_READY)) {
		to->in_doubt = true;
		to->truncated = true;
		return;
	}
	to->kind = from->kind < LEDGER_KIND_COUNT ? from->kind : LEDGER_KIND_MALLOC;
	to->align_log2 = from->align_log2 < 64 ? from->align_log2 : 0;
	to->truncated = (flags & LEDGER_CONTEXT_TRUNCATED) != 0;
	to->cut = (flags & LEDGER_CONTEXT_CUT) != 0;
	to->by_frame_pointer = (flags & LEDGER_CONTEXT_FRAME_POINTER) != 0;
	to->first_ns = from->first_ns;
	name = ledger_view_string(&c->load->view, from->thread);
	if (name)
		to->thread = seep_profile_strndup(c->load->profile, name,
						  from->thread.bytes < THREAD_NAME_BYTES_MAX
							  ? from->thread.bytes
							  : THREAD_NAME_BYTES_MAX);
	if (!seep_stacks_fill(stacks, to, from->leaf)) {
		to->in_doubt = true;
		to->truncated = true;
	}
}

static void describe_all(struct contexts *c)
{
	struct seep_profile *profile = c->load->profile;
	struct seep_stacks stacks;

	seep_stacks_init(&stacks, &c->load->view, profile, c->load->scratch);
	for (uint64_t i = 0; i < c->count; i++)
		if (c->places[i])
			describe(c, i, &stacks, &profile->contexts[c->places[i] - 1]);
	seep_stacks_done(&stacks);
	if (stacks.entries_full)
		seep_profile_add_stacks_cut(profile, stacks.entries_max);
}

void seep_ledger_load_contexts(struct seep_ledger_load *load)
{
	struct seep_profile *profile = load->profile;
	struct contexts c = { .load = load };

	c.count = load->view.count[LEDGER_TABLE_CONTEXTS];
	if (c.count < LEDGER_CONTEXT_FIRST)
		c.count = LEDGER_CONTEXT_FIRST;
	if (c.count >= UINT32_MAX)
		c.count = UINT32_MAX - 1;
	c.places = seep_arena_calloc(load->scratch, c.count, sizeof(*c.places));
	c.owners = seep_arena_calloc(load->scratch, load->rows.count, sizeof(*c.owners));
	find_owners(&c);
	profile->context_count = assign_places(&c);
	profile->contexts = seep_profile_calloc(profile, profile->context_count,
						sizeof(*profile->contexts));
	for (uint64_t i = 0; i < load->rows.count; i++)
		add_row(&c, i);
	for (uint32_t i = 0; i < profile->context_count; i++)
		lift_peaks(&profile->contexts[i], load->rows.peak_is_now);
	list_epochs(&c);
	describe_all(&c);
	seep_profile_hash_contexts(profile);
}
