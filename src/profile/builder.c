/* SPDX-License-Identifier: MIT */
#include "profile/builder.h"

#include "base/xalloc.h"
#include "core/bits.h"

#include <stdlib.h>
#include <string.h>

enum { STACK_ENTRIES_PER_BYTE = 8 };

#define TEXT_SLACK_BYTES (64ull * 1024)
#define STACK_ENTRIES_MIN (1ull << 24)
#define STACK_ENTRIES_MAX (1ull << 28)

struct seep_piece {
	uint32_t first; /* of its entries */
	uint32_t count;
	uint32_t depth; /* entries from its innermost to the root */
	uint32_t parent;
};

void seep_builder_init(struct seep_builder *b, uint64_t held_bytes)
{
	*b = (struct seep_builder){ .profile = seep_profile_new(), .text_left = TEXT_SLACK_BYTES };
	seep_builder_hold(b, held_bytes);
}

void seep_builder_hold(struct seep_builder *b, uint64_t held_bytes)
{
	/* What swings is no ledger that grows: it gives no room twice. */
	held_bytes = core_larger(held_bytes, b->held_bytes);
	b->text_left += held_bytes - b->held_bytes;
	b->held_bytes = held_bytes;
	/* Enough for stacks that are deep and many, not what a small file can name. */
	b->entries_max =
		core_smaller(STACK_ENTRIES_MIN + core_smaller(held_bytes, STACK_ENTRIES_MAX) *
							 STACK_ENTRIES_PER_BYTE,
			     STACK_ENTRIES_MAX);
}

void seep_builder_done(struct seep_builder *b)
{
	seep_profile_free(b->profile);
	seep_idtable_done(&b->frame_ids);
	seep_idtable_done(&b->piece_ids);
	free(b->pieces);
	free(b->piece_entries);
	memset(b, 0, sizeof(*b));
}

char *seep_builder_text(struct seep_builder *b, const char *bytes, uint64_t count)
{
	if (count >= b->text_left)
		return NULL;
	b->text_left -= count + 1;
	return seep_profile_strndup(b->profile, bytes, count);
}

uint8_t *seep_builder_bytes(struct seep_builder *b, const void *bytes, uint64_t count)
{
	if (count > b->text_left)
		return NULL;
	b->text_left -= count;
	return memcpy(seep_profile_calloc(b->profile, count, 1), bytes, count);
}

static bool same_frame(const struct seep_profile_frame *a, const struct seep_profile_frame *b)
{
	return a->address == b->address && a->module == b->module && a->exact == b->exact;
}

uint32_t seep_builder_frame(struct seep_builder *b, const struct seep_profile_frame *frame)
{
	uint64_t hash = seep_hash_mix(frame->address, (uint64_t)frame->module << 1 | frame->exact);
	size_t at = SEEP_IDTABLE_START;
	uint32_t id;

	while ((id = seep_idtable_find(&b->frame_ids, hash, &at)) != SEEP_IDTABLE_NONE)
		if (same_frame(&b->profile->frames[id], frame))
			return id;
	id = b->profile->frame_count;
	*(struct seep_profile_frame *)seep_profile_add(b->profile, SEEP_ARRAY_FRAMES) = *frame;
	seep_idtable_add(&b->frame_ids, hash, id);
	return id;
}

struct seep_profile_stack_entry *seep_builder_room(struct seep_builder *b, uint64_t count)
{
	b->piece_entries = seep_xgrow(b->piece_entries, &b->piece_entry_capacity,
				      b->piece_entry_count + count, sizeof(*b->piece_entries));
	return b->piece_entries + b->piece_entry_count;
}

uint32_t seep_builder_piece(struct seep_builder *b, uint32_t parent, uint32_t count)
{
	struct seep_piece piece = { b->piece_entry_count, count, count, parent };

	if ((parent && __builtin_add_overflow(count, b->pieces[parent - 1].depth, &piece.depth)) ||
	    __builtin_add_overflow(b->piece_entry_count, count, &b->piece_entry_count) ||
	    b->piece_count == UINT32_MAX)
		return 0;
	*SEEP_APPEND(b->pieces, b->piece_count) = piece;
	return b->piece_count;
}

uint32_t seep_builder_entry(struct seep_builder *b, uint32_t parent,
			    const struct seep_profile_stack_entry *entry)
{
	const uint64_t hash = seep_hash_mix(parent, (uint64_t)entry->frame << 8 | entry->period);
	size_t at = SEEP_IDTABLE_START;
	uint32_t piece;

	while ((piece = seep_idtable_find(&b->piece_ids, hash, &at)) != SEEP_IDTABLE_NONE) {
		const struct seep_profile_stack_entry *other =
			&b->piece_entries[b->pieces[piece - 1].first];

		if (b->pieces[piece - 1].parent == parent && other->frame == entry->frame &&
		    other->period == entry->period)
			return piece;
	}
	*seep_builder_room(b, 1) = *entry;
	piece = seep_builder_piece(b, parent, 1);
	if (piece)
		seep_idtable_add(&b->piece_ids, hash, piece);
	return piece;
}

/* Every context has its stack to itself, though the source has what they share only once. */
void seep_builder_stack(struct seep_builder *b, struct seep_profile_context *context,
			uint32_t piece)
{
	uint32_t left = piece ? b->pieces[piece - 1].depth : 0;
	struct seep_profile_stack_entry *to;

	if (left > SEEP_PROFILE_CUT_DEPTH && b->entries + left > b->entries_max) {
		left = SEEP_PROFILE_CUT_DEPTH;
		context->cut = true;
		b->stacks_cut = true;
	}
	b->entries += left;
	context->stack = to = seep_profile_calloc(b->profile, left, sizeof(*to));
	context->stack_count = left;
	while (left) {
		const struct seep_piece *from = &b->pieces[piece - 1];
		uint32_t count = from->count < left ? from->count : left;

		/* Most are short: no memcpy() for one entry. */
		for (uint32_t i = 0; i < count; i++)
			*to++ = b->piece_entries[from->first + i];
		left -= count;
		piece = from->parent;
	}
}

void seep_builder_finish(struct seep_builder *b)
{
	if (b->stacks_cut)
		seep_profile_add_unseen(b->profile, "stacks-cut",
					"there are more than %llu frames in all stacks together; "
					"later stacks show their innermost frames only",
					(unsigned long long)b->entries_max);
}

struct seep_profile *seep_builder_take(struct seep_builder *b)
{
	struct seep_profile *profile = b->profile;

	b->profile = NULL;
	return profile;
}
