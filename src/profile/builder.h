/* SPDX-License-Identifier: MIT */
/*
 * A profile, put together item by item by whoever decodes a ledger, a recording or another tool's
 * file. What they have in common is here: frames that are there once, stacks from pieces of a tree,
 * and the bounds that keep a small hostile file from making a large profile.
 *
 *	seep_builder_init(&builder, held_bytes);
 *	builder.profile->process.pid = pid;
 *	module = seep_profile_add(builder.profile, SEEP_ARRAY_MODULES);
 *	...
 *	seep_builder_finish(&builder);
 *	profile = seep_builder_take(&builder);
 *	seep_builder_done(&builder);
 */
#ifndef SEEP_PROFILE_BUILDER_H
#define SEEP_PROFILE_BUILDER_H

#include "base/idtable.h"
#include "profile/profile.h"

struct seep_builder {
	struct seep_profile *profile; /* what is no array may be set directly */
	/* The rest is the builder's own. */
	uint64_t held_bytes;  /* of the source */
	uint64_t text_left;   /* bytes that texts may still take */
	uint64_t entries_max; /* of all stacks together */
	uint64_t entries;     /* of all stacks so far */
	bool stacks_cut;
	struct seep_idtable frame_ids; /* of frames that seep_builder_frame() gave */
	struct seep_idtable piece_ids; /* of pieces that seep_builder_entry() gave */
	struct seep_piece *pieces;
	uint32_t piece_count;
	struct seep_profile_stack_entry *piece_entries; /* of all pieces */
	size_t piece_entry_capacity;
	uint32_t piece_entry_count;
};

/* What stacks keep of their innermost frames where the profile has as many entries as it may. */
enum { SEEP_PROFILE_CUT_DEPTH = 64 };

/* @held_bytes: of the source, holes left out. Texts and stacks are bounded by it. */
void seep_builder_init(struct seep_builder *builder, uint64_t held_bytes);

/* The source has grown, and what it bounds with it. */
void seep_builder_hold(struct seep_builder *builder, uint64_t held_bytes);

/* Release what was not taken. Zeroed storage is a no-op. */
void seep_builder_done(struct seep_builder *builder);

/* A terminated copy for the profile; NULL when all texts together are longer than the source. */
char *seep_builder_text(struct seep_builder *builder, const char *bytes, uint64_t count);

/* The same for bytes of any value; counted with the texts. */
uint8_t *seep_builder_bytes(struct seep_builder *builder, const void *bytes, uint64_t count);

/* The index of the one frame with @frame's module, address and exactness, added if it is new. */
uint32_t seep_builder_frame(struct seep_builder *builder, const struct seep_profile_frame *frame);

/* Room for @count entries of the piece that comes next. Valid until the next call. */
struct seep_profile_stack_entry *seep_builder_room(struct seep_builder *builder, uint64_t count);

/**
 * seep_builder_piece - a piece of stacks, of the first @count entries of seep_builder_room()
 * @parent: what lies further out: what an earlier call returned, 0 = nothing
 *
 * Returns: a number for the piece, 1 and up; 0 where the stack would be longer, or the pieces more,
 * than 32 bits count.
 */
uint32_t seep_builder_piece(struct seep_builder *builder, uint32_t parent, uint32_t count);

/* The one piece of @entry alone inside of @parent, made if it is new. As seep_builder_piece(). */
uint32_t seep_builder_entry(struct seep_builder *builder, uint32_t parent,
			    const struct seep_profile_stack_entry *entry);

/* Give @context the stack whose innermost piece is @piece; 0 = none. It may be cut. */
void seep_builder_stack(struct seep_builder *builder, struct seep_profile_context *context,
			uint32_t piece);

/* To be called last: profile->unseen says so where stacks were cut. More may be added after it. */
void seep_builder_finish(struct seep_builder *builder);

/* The profile, which was finished; it is the caller's. */
struct seep_profile *seep_builder_take(struct seep_builder *builder)
	__attribute__((returns_nonnull, warn_unused_result));

#endif
