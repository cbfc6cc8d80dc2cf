/* SPDX-License-Identifier: MIT */
/* The tables that refer to each other: who allocated, from where. */
#include "recording/recording_write_stacks.h"

#include "base/xalloc.h"
#include "recording/recording_rows.h"
#include "recording/recording_segments.h"

#include <stdlib.h>

/* "[4294967295,255,65535],": one entry of a segment. */
struct stacks {
	struct sqlite3 *db;
	const struct seep_profile *profile;
	struct seep_error *err;
};

enum { ENTRY_TEXT_BYTES_MAX = 24 };

static int write_contexts(struct stacks *w, const struct seep_recording_segments *segments,
			  const uint32_t *leaves)
{
	struct seep_row_writer rows;

	seep_row_writer_init(&rows, w->db, SEEP_TABLE_CONTEXT);
	for (uint32_t i = 0; i < w->profile->context_count; i++) {
		const struct seep_profile_context *context = &w->profile->contexts[i];
		const struct seep_context_row row = {
			.context = *context,
			.frame = leaves[i] ? context->stack[0].frame + 1 : 0,
			.leaf = leaves[i] ? segments->items[leaves[i] - 1].id : 0,
		};

		seep_row_put(&rows, &row);
	}
	return seep_row_writer_done(&rows, w->err);
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

static int write_segments(struct stacks *w, const struct seep_recording_segments *segments,
			  const uint32_t *order)
{
	struct seep_row_writer rows;
	size_t room = 0;
	char *text = NULL;

	seep_row_writer_init(&rows, w->db, SEEP_TABLE_SEGMENT);
	for (uint32_t i = 0; i < segments->count; i++) {
		const struct seep_recording_segment *segment = &segments->items[order[i]];
		struct seep_segment_row row = { 0 };

		text = seep_xgrow(text, &room, segment->count + 1, ENTRY_TEXT_BYTES_MAX);
		if (segment->parent)
			row.parent = segments->items[segment->parent - 1].id;
		row.frames = (struct seep_row_bytes){ text, frames_text(segment, text) };
		seep_row_put(&rows, &row);
	}
	free(text);
	return seep_row_writer_done(&rows, w->err);
}

static int write_tree(struct stacks *w, struct seep_recording_segments *segments, uint32_t *leaves)
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

static int write_stacks(struct stacks *w)
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

static int write_epochs(struct stacks *w)
{
	struct seep_row_writer rows;

	seep_row_writer_init(&rows, w->db, SEEP_TABLE_EPOCH);
	for (uint32_t i = 0; i < w->profile->context_count; i++) {
		const struct seep_profile_context *context = &w->profile->contexts[i];

		for (uint32_t e = 0; e < context->epoch_count; e++) {
			const struct seep_epoch_row row = { context->id, context->epochs[e] };

			seep_row_put(&rows, &row);
		}
	}
	return seep_row_writer_done(&rows, w->err);
}

int seep_recording_write_stacks(struct sqlite3 *db, const struct seep_profile *profile,
				struct seep_error *err)
{
	struct stacks w = { db, profile, err };
	int r = write_stacks(&w);

	return r == 0 ? write_epochs(&w) : r;
}
