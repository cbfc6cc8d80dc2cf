/* SPDX-License-Identifier: MIT */
/*
 * Stacks from nodes, and rows summed by context. A context's live figures are the sums of its rows'
 * live figures, so that its epochs add up to them. Equal contexts are one, under the id that was
 * met first: one that appears while a process runs changes no other's.
 */
#include "core/bits.h"
#include "profile/ledger_parts.h"

#include <stdlib.h>
#include <string.h>

enum { THREAD_NAME_BYTES_MAX = 64, FALLS_MAX = 1000 };

/* 0: its address is absolute. */
static uint32_t module_of(const struct seep_ledger_load *load, const struct ledger_node *node)
{
	/* Once: the process may write to it. */
	const uint32_t module = __atomic_load_n(&node->module, __ATOMIC_RELAXED);

	return module && module <= load->module_count ? load->modules[module - 1] : 0;
}

static uint32_t frame_of(struct seep_ledger_load *load, const struct ledger_node *node)
{
	const struct seep_profile_frame frame = {
		.address = node->address,
		.module = module_of(load, node),
		.exact = (node->flags & LEDGER_NODE_EXACT) != 0,
	};

	return seep_builder_frame(&load->builder, &frame);
}

/*
 * A node that is published becomes a piece of one entry inside of its parent's, as which it is
 * there once.
 */
static void make_piece(struct seep_ledger_load *load, uint32_t index)
{
	const struct ledger_node *item = ledger_view_node(&load->view, index);
	uint32_t ready = item ? LEDGER_GET(item->parent_ready) : 0;
	struct seep_ledger_node *node = &load->nodes[index];
	struct seep_ledger_node parent;
	struct seep_profile_stack_entry entry = { 0 };

	if (ready == 0)
		return;
	/* A parent comes before its children; so a loop is damage, and no walk. */
	parent = load->nodes[ready <= index ? ready - 1 : 0];
	/* Published since we passed it, and of no context that was read: the next time. */
	if (load->live && ((ready > 1 && ready <= index && !parent.piece) ||
			   (item->module && !module_of(load, item))))
		return;
	node->damaged = ready > index || parent.damaged || (ready > 1 && !parent.piece);
	entry.frame = frame_of(load, item);
	entry.period = item->period;
	node->piece = seep_builder_entry(&load->builder, parent.piece, &entry);
	if (node->piece)
		load->folded[node->piece] = (uint16_t)core_larger(load->folded[node->piece],
								  item->folded);
}

void seep_ledger_load_nodes(struct seep_ledger_load *load)
{
	const uint64_t count = load->view.count[LEDGER_TABLE_NODES];

	load->nodes = seep_ledger_grow(load->nodes, &load->node_count, count, sizeof(*load->nodes));
	/* No node makes more than one piece, and the root makes none. */
	load->folded = seep_ledger_grow(load->folded, &load->folded_count, count,
					sizeof(*load->folded));
	for (uint32_t i = 1; i < load->node_count; i++)
		if (load->nodes[i].piece == 0)
			make_piece(load, i);
}

/* All zero where there is none. */
static struct seep_ledger_node node_at(const struct seep_ledger_load *load, uint32_t index)
{
	return index < load->node_count ? load->nodes[index] : (struct seep_ledger_node){ 0 };
}

/* The most that a node or one of its equals says; of the root 0. */
static uint32_t folded_of(const struct seep_ledger_load *load, uint32_t index)
{
	const struct ledger_node *node = ledger_view_node(&load->view, index);
	const uint32_t piece = node_at(load, index).piece;

	return node && piece ? (uint32_t)core_larger(load->folded[piece], node->folded) : 0;
}

/*
 * Set the repeats of @context's stack, whose innermost node is @leaf. A node says how much was
 * folded up to it in the deepest of all stacks through it; of those that reach @leaf none is deeper
 * than @leaf says. So all repeats together make the deepest of them, and no deeper one.
 */
static void count_repeats(struct seep_ledger_load *load, uint32_t leaf,
			  struct seep_profile_context *context)
{
	uint32_t folded = folded_of(load, leaf);

	for (uint32_t i = 0; i < context->stack_count; i++) {
		struct seep_profile_stack_entry *entry = &context->stack[i];
		const struct ledger_node *node = ledger_view_node(&load->view, leaf);
		const uint32_t parent = node ? LEDGER_GET(node->parent_ready) : 0;
		uint32_t further_out;

		leaf = parent ? parent - 1 : 0;
		further_out = (uint32_t)core_smaller(folded_of(load, leaf), folded);
		if (entry->period && folded > further_out)
			entry->repeats = (uint16_t)(folded == UINT16_MAX ? UINT16_MAX
									 : (folded - further_out) /
										   entry->period);
		folded = further_out;
	}
}

/* All but the stack, whose piece is returned: of a damaged one the part that could be read. */
static uint32_t describe(struct seep_ledger_load *load, const struct ledger_context *from,
			 struct seep_profile_context *to)
{
	const struct seep_ledger_node leaf = node_at(load, from->leaf);
	const uint32_t flags = LEDGER_GET(from->flags);

	to->no_stack = to->id == LEDGER_CONTEXT_NO_STACK + 1;
	to->other = to->id == LEDGER_CONTEXT_OTHER + 1;
	to->kind = from->kind;
	if (to->kind < LEDGER_KIND_COUNT && ledger_kind_is_aligned(to->kind) &&
	    from->align_log2 < 64)
		to->align_log2 = from->align_log2;
	to->cut = (flags & LEDGER_CONTEXT_CUT) != 0;
	to->by_frame_pointer = (flags & LEDGER_CONTEXT_FRAME_POINTER) != 0;
	to->first_ns = from->first_ns;
	to->thread = seep_ledger_text(load, from->thread, THREAD_NAME_BYTES_MAX);
	to->scope = seep_ledger_scope(load, from->scope);
	to->site = (flags & LEDGER_CONTEXT_SITE) != 0;
	load->has_sites |= to->site;
	to->damaged = from->leaf && (!leaf.piece || leaf.damaged);
	to->truncated = to->damaged || (flags & LEDGER_CONTEXT_TRUNCATED);
	return leaf.piece;
}

static bool is_same(const struct seep_profile_context *a, const struct seep_profile_context *b)
{
	return a->kind == b->kind && a->align_log2 == b->align_log2 && a->no_stack == b->no_stack &&
	       a->other == b->other && a->cut == b->cut && a->site == b->site &&
	       a->by_frame_pointer == b->by_frame_pointer && a->truncated == b->truncated &&
	       a->damaged == b->damaged && a->scope == b->scope &&
	       seep_text_equal(a->thread, b->thread);
}

/* The place of the context that is like @like; 0: it is new. */
static uint32_t find_place(const struct seep_ledger_load *load, uint64_t hash,
			   const struct seep_profile_context *like, uint32_t piece)
{
	size_t at = SEEP_IDTABLE_START;
	uint32_t index;

	while ((index = seep_idtable_find(&load->context_ids, hash, &at)) != SEEP_IDTABLE_NONE)
		if (load->contexts[index].piece == piece &&
		    is_same(&load->profile->contexts[index], like))
			return index + 1;
	return 0;
}

/* The stack's innermost node is @leaf. */
static uint32_t add_context(struct seep_ledger_load *load, uint64_t hash,
			    const struct seep_profile_context *like, uint32_t piece, uint32_t leaf)
{
	struct seep_profile *profile = load->profile;
	struct seep_profile_context *context = seep_profile_add(profile, SEEP_ARRAY_CONTEXTS);

	*context = *like;
	load->lost_stacks += context->damaged;
	seep_builder_stack(&load->builder, context, piece);
	if (piece)
		count_repeats(load, leaf, context);
	if (profile->context_count > load->context_count)
		load->contexts = seep_ledger_grow(load->contexts, &load->context_count,
						  profile->context_count * UINT64_C(3) / 2,
						  sizeof(*load->contexts));
	load->contexts[profile->context_count - 1].piece = piece;
	if (context->stack_count)
		load->contexts[profile->context_count - 1].frame = context->stack[0].frame + 1;
	seep_idtable_add(&load->context_ids, hash, profile->context_count - 1);
	return profile->context_count;
}

uint32_t seep_ledger_place(struct seep_ledger_load *load, uint32_t index)
{
	/* Of the two that every ledger has nothing is read. */
	static const struct ledger_context fixed = { .flags = LEDGER_CONTEXT_READY };
	struct seep_profile *profile = load->profile;
	struct seep_profile_context like = { .id = index + 1 };
	const struct ledger_context *item = &fixed;
	uint32_t piece, place;
	uint64_t hash;

	if (index >= profile->place_count)
		return 0;
	if (profile->places[index])
		return profile->places[index];
	if (index >= LEDGER_CONTEXT_FIRST)
		item = ledger_view_context(&load->view, index);
	if (!item || !(LEDGER_GET(item->flags) & LEDGER_CONTEXT_READY))
		return 0;
	piece = describe(load, item, &like);
	hash = seep_hash_mix(piece, (uint64_t)like.scope << 16 | like.kind << 8 | like.align_log2);
	hash = seep_hash_text(hash, like.thread);
	place = find_place(load, hash, &like, piece);
	if (place == 0)
		place = add_context(load, hash, &like, piece, item->leaf);
	else if (like.first_ns < profile->contexts[place - 1].first_ns)
		profile->contexts[place - 1].first_ns = like.first_ns;
	return profile->places[index] = place;
}

/* Figures whose context cannot be had, or allocates nothing, are kept, under "no stack". */
static uint32_t owner_of(struct seep_ledger_load *load, uint32_t row)
{
	const uint32_t ready = load->rows.sums[row].context;
	uint32_t place = ready ? seep_ledger_place(load, ready - 1) : 0;

	if (place && load->profile->contexts[place - 1].kind != LEDGER_KIND_FREE)
		return place;
	load->rows.in_doubt[row] = 1;
	load->orphans++;
	return seep_ledger_place(load, LEDGER_CONTEXT_NO_STACK);
}

static void add_epoch(struct seep_ledger_load *load, uint32_t place,
		      const struct seep_profile_epoch *more)
{
	struct seep_profile_context *context = &load->profile->contexts[place - 1];
	uint32_t *room = &load->contexts[place - 1].epoch_room;
	struct seep_profile_epoch *epoch;
	uint32_t at = context->epoch_count;

	if ((more->blocks | more->bytes) == 0)
		return;
	/* Where it is, or belongs: what changes is young, most often. */
	while (at > 0 && context->epochs[at - 1].epoch >= more->epoch)
		at--;
	if (at == context->epoch_count || context->epochs[at].epoch != more->epoch) {
		if (context->epoch_count == *room) {
			*room = *room ? *room * 2 : 1;
			epoch = seep_profile_calloc(load->profile, *room, sizeof(*epoch));
			if (context->epoch_count)
				memcpy(epoch, context->epochs,
				       context->epoch_count * sizeof(*epoch));
			context->epochs = epoch;
		}
		memmove(&context->epochs[at + 1], &context->epochs[at],
			(context->epoch_count - at) * sizeof(*context->epochs));
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
	struct seep_row_sum more = { .epoch = now->epoch };

	for (size_t i = 0; i < sizeof(more.sums) / sizeof(more.sums[0]); i++)
		more.sums[i] = now->sums[i] - before->sums[i];
	return more;
}

void seep_ledger_add_row(struct seep_ledger_load *load, uint32_t place,
			 const struct seep_row_sum *more)
{
	struct seep_profile_context *context = &load->profile->contexts[place - 1];
	struct seep_ledger_context *sums = &load->contexts[place - 1];
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
	sums->peak_blocks += more->peak_blocks;
	sums->peak_bytes += more->peak_bytes;
	sums->changed = true;
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
	if (old && seep_profile_context_of(profile, now->context) == old &&
	    memcmp(before, now, sizeof(*now)) == 0)
		return;
	place = now->allocs | now->alloc_bytes | now->frees | now->freed_bytes | now->temporaries
			? owner_of(load, change->row)
			: 0;
	profile->rows[change->row] = (struct seep_profile_row){
		place, now->epoch, now->is_weighted || now->is_site ? 0 : now->sample
	};
	if (old && (old != place || now->epoch != before->epoch)) {
		more = difference(&nothing, before);
		more.epoch = before->epoch;
		seep_ledger_add_row(load, old, &more);
		before = &nothing;
	}
	if (place) {
		more = difference(now, before);
		seep_ledger_add_row(load, place, &more);
	}
}

/* @sum wraps: it may be below 0. */
static uint64_t between(uint64_t sum, uint64_t max)
{
	return (int64_t)sum < 0 ? 0 : core_smaller(sum, max);
}

/* Out of bounds where a cut was read while it was made, or written over. */
static void lift_peak(struct seep_profile_context *context, const struct seep_ledger_context *sums,
		      bool peak_is_now)
{
	context->peak_blocks = between(peak_is_now ? context->live_blocks : sums->peak_blocks,
				       context->allocs);
	context->peak_bytes = between(peak_is_now ? context->live_bytes : sums->peak_bytes,
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
	const uint64_t places = load->view.count[LEDGER_TABLE_CONTEXTS] + LEDGER_CONTEXT_FIRST;

	order_changes(rows);
	if (profile->place_count < places)
		(void)seep_profile_add_items(profile, SEEP_ARRAY_PLACES,
					     (uint32_t)places - profile->place_count);
	profile->first_row = load->view.header.first_row;
	if (profile->row_count < rows->count)
		(void)seep_profile_add_items(profile, SEEP_ARRAY_ROWS,
					     (uint32_t)rows->count - profile->row_count);
	for (uint32_t i = 0; i < profile->context_count && load->any_in_doubt; i++)
		profile->contexts[i].in_doubt = profile->contexts[i].damaged;
	load->any_in_doubt = false;
	seep_ledger_take_back(load);
	for (uint64_t i = 0; i < rows->change_count; i++)
		move_row(load, &rows->changes[i]);
	seep_ledger_estimate(load);
	for (uint64_t i = 0; i < rows->change_count; i++) {
		const uint32_t place = profile->rows[rows->changes[i].row].context;

		if (place && rows->in_doubt[rows->changes[i].row])
			profile->contexts[place - 1].in_doubt = load->any_in_doubt = true;
	}
	for (uint32_t i = 0; i < profile->context_count; i++) {
		if (load->contexts[i].changed || rows->peak_is_now != load->peak_was_now)
			lift_peak(&profile->contexts[i], &load->contexts[i], rows->peak_is_now);
		load->contexts[i].changed = false;
	}
	load->peak_was_now = rows->peak_is_now;
}
