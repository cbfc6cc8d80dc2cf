/* SPDX-License-Identifier: MIT */
/* The tables that refer to each other: who allocated, from where. */
#include "recording/recording_writer.h"

#include "base/xalloc.h"
#include "profile/profile.h"
#include "recording/recording_db.h"
#include "recording/recording_segments.h"

#include <stdlib.h>

/* "[4294967295,255,65535],": one entry of a segment. */
enum { ENTRY_TEXT_BYTES_MAX = 24 };

static int write_modules(struct seep_writer *w)
{
	struct seep_db_insert in;

	seep_db_insert_init(&in, w->db, "INSERT INTO module VALUES (?,?,?,?,?,?,?)");
	for (uint32_t i = 0; i < w->profile->module_count; i++) {
		const struct seep_profile_module *module = &w->profile->modules[i];

		seep_db_put_number(&in, (uint64_t)i + 1);
		seep_db_put_text(&in, module->path ? module->path : "");
		seep_db_put_number(&in, module->bias);
		seep_db_put_number(&in, module->start);
		seep_db_put_number(&in, module->end);
		if (module->build_id_bytes)
			seep_db_put_blob(&in, module->build_id, module->build_id_bytes);
		else
			seep_db_put_null(&in);
		seep_db_put_text(&in, module->problem);
		seep_db_insert_row(&in);
	}
	return seep_db_insert_done(&in, w->err);
}

static int write_frames(struct seep_writer *w)
{
	struct seep_db_insert in;

	seep_db_insert_init(&in, w->db, "INSERT INTO frame VALUES (?,?,?,?,?,?,?,?)");
	for (uint32_t i = 0; i < w->profile->frame_count; i++) {
		const struct seep_profile_frame *frame = &w->profile->frames[i];

		seep_db_put_number(&in, (uint64_t)i + 1);
		if (frame->module)
			seep_db_put_number(&in, frame->module);
		else
			seep_db_put_null(&in);
		seep_db_put_number(&in, frame->address);
		seep_db_put_number(&in, frame->exact);
		seep_db_put_number(&in, frame->inlined);
		seep_db_put_text(&in, frame->function);
		seep_db_put_text(&in, frame->file);
		seep_db_put_number(&in, frame->line);
		seep_db_insert_row(&in);
	}
	return seep_db_insert_done(&in, w->err);
}

/* The id of the innermost frame and of the segment that it ends, or neither. */
static void put_leaf(struct seep_db_insert *in, const struct seep_profile_context *context,
		     uint32_t leaf)
{
	if (!leaf) {
		seep_db_put_null(in);
		seep_db_put_null(in);
		return;
	}
	seep_db_put_number(in, (uint64_t)context->stack[0].frame + 1);
	seep_db_put_number(in, leaf);
}

static void put_context(struct seep_db_insert *in, const struct seep_profile_context *context,
			uint32_t leaf)
{
	seep_db_put_number(in, context->id);
	seep_db_put_number(in, context->hash);
	seep_db_put_number(in, context->kind);
	seep_db_put_number(in, context->align_log2);
	put_leaf(in, context, leaf);
	seep_db_put_number(in, context->truncated);
	seep_db_put_number(in, context->cut);
	seep_db_put_number(in, context->by_frame_pointer);
	seep_db_put_number(in, context->no_stack);
	seep_db_put_number(in, context->other);
	seep_db_put_number(in, context->in_doubt);
	seep_db_put_text(in, context->thread);
	seep_db_put_text(in, context->scope);
	seep_db_put_number(in, context->first_ns);
	seep_db_put_number(in, context->allocs);
	seep_db_put_number(in, context->alloc_bytes);
	seep_db_put_number(in, context->frees);
	seep_db_put_number(in, context->freed_bytes);
	seep_db_put_number(in, context->temporary);
	seep_db_put_number(in, context->live_blocks);
	seep_db_put_number(in, context->live_bytes);
	seep_db_put_number(in, context->peak_blocks);
	seep_db_put_number(in, context->peak_bytes);
	seep_db_insert_row(in);
}

static int write_contexts(struct seep_writer *w, const struct seep_recording_segments *segments,
			  const uint32_t *leaves)
{
	struct seep_db_insert in;

	seep_db_insert_init(&in, w->db,
			    "INSERT INTO context VALUES "
			    "(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)");
	for (uint32_t i = 0; i < w->profile->context_count; i++)
		put_context(&in, &w->profile->contexts[i],
			    leaves[i] ? segments->items[leaves[i] - 1].id : 0);
	return seep_db_insert_done(&in, w->err);
}

static char *add_number(char *at, uint32_t number)
{
	char digits[16];
	int count = 0;

	do {
		digits[count++] = (char)('0' + number % 10);
		number /= 10;
	} while (number);
	while (count)
		*at++ = digits[--count];
	return at;
}

/* "[7,12,[5,1,300]]": see docs/recording.md. @text has room. Returns its length. */
static size_t frames_text(const struct seep_recording_segment *segment, char *text)
{
	char *at = text;

	for (uint32_t i = 0; i < segment->count; i++) {
		const struct seep_profile_stack_entry *entry = &segment->entries[i];

		*at++ = i ? ',' : '[';
		if (entry->period)
			*at++ = '[';
		at = add_number(at, entry->frame + 1);
		if (entry->period) {
			*at++ = ',';
			at = add_number(at, entry->period);
			*at++ = ',';
			at = add_number(at, entry->repeats);
			*at++ = ']';
		}
	}
	*at++ = ']';
	return (size_t)(at - text);
}

static int write_segments(struct seep_writer *w, const struct seep_recording_segments *segments,
			  const uint32_t *order)
{
	struct seep_db_insert in;
	size_t room = 0;
	char *text = NULL;

	seep_db_insert_init(&in, w->db, "INSERT INTO segment VALUES (?,?,?)");
	for (uint32_t i = 0; i < segments->count; i++) {
		const struct seep_recording_segment *segment = &segments->items[order[i]];

		text = seep_xgrow(text, &room, segment->count + 1, ENTRY_TEXT_BYTES_MAX);
		seep_db_put_number(&in, (uint64_t)i + 1);
		if (segment->parent)
			seep_db_put_number(&in, segments->items[segment->parent - 1].id);
		else
			seep_db_put_null(&in);
		seep_db_put_text_bytes(&in, text, frames_text(segment, text));
		seep_db_insert_row(&in);
	}
	free(text);
	return seep_db_insert_done(&in, w->err);
}

static int write_tree(struct seep_writer *w, struct seep_recording_segments *segments,
		      uint32_t *leaves)
{
	uint32_t *order;
	int r = 0;

	for (uint32_t i = 0; i < w->profile->context_count && r == 0; i++) {
		const struct seep_profile_context *context = &w->profile->contexts[i];

		r = seep_recording_segments_add(segments, context->stack, context->stack_count,
						&leaves[i], w->err);
	}
	if (r < 0)
		return r;
	order = seep_recording_segments_number(segments);
	r = write_segments(w, segments, order);
	free(order);
	return r == 0 ? write_contexts(w, segments, leaves) : r;
}

static int write_stacks(struct seep_writer *w)
{
	uint32_t *leaves = seep_xcalloc(w->profile->context_count, sizeof(*leaves));
	struct seep_recording_segments segments;
	int r;

	seep_recording_segments_init(&segments);
	r = write_tree(w, &segments, leaves);
	seep_recording_segments_done(&segments);
	free(leaves);
	return r;
}

static int write_epochs(struct seep_writer *w)
{
	struct seep_db_insert in;

	seep_db_insert_init(&in, w->db, "INSERT INTO epoch VALUES (?,?,?,?)");
	for (uint32_t i = 0; i < w->profile->context_count; i++) {
		const struct seep_profile_context *context = &w->profile->contexts[i];

		for (uint32_t e = 0; e < context->epoch_count; e++) {
			seep_db_put_number(&in, context->id);
			seep_db_put_number(&in, context->epochs[e].epoch);
			seep_db_put_number(&in, context->epochs[e].blocks);
			seep_db_put_number(&in, context->epochs[e].bytes);
			seep_db_insert_row(&in);
		}
	}
	return seep_db_insert_done(&in, w->err);
}

int seep_writer_stacks(struct seep_writer *w)
{
	int r = write_modules(w);

	if (r == 0)
		r = write_frames(w);
	if (r == 0)
		r = write_stacks(w);
	return r == 0 ? write_epochs(w) : r;
}
