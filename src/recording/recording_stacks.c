/* SPDX-License-Identifier: MIT */
/* The tables that refer to each other: who allocated, from where. */
#include "recording/recording_reader.h"

#include "base/xalloc.h"

#include <string.h>

#define MODULES_MAX (1u << 20)
#define FRAMES_MAX (1u << 27)
#define SEGMENTS_MAX (1u << 28)
#define CONTEXTS_MAX (1u << 26)
#define EPOCHS_MAX (1u << 28)

struct seep_reader_segment {
	size_t first; /* of its entries */
	uint32_t count;
	uint32_t depth; /* frames from its innermost to the root */
	uint32_t parent;
};

static int module_row(struct seep_reader *l)
{
	struct seep_profile_module *module = seep_reader_add(l, sizeof(*module));
	const void *build_id = sqlite3_column_blob(l->statement, 5);
	int build_id_bytes = sqlite3_column_bytes(l->statement, 5);

	if (seep_reader_number(l, 0) != l->item_count)
		return seep_reader_damaged(l, "module ids have gaps");
	module->path = seep_reader_text_or_empty(l, 1);
	module->bias = seep_reader_number(l, 2);
	module->start = seep_reader_number(l, 3);
	module->end = seep_reader_number(l, 4);
	if (build_id && build_id_bytes <= SEEP_PROFILE_BUILD_ID_BYTES) {
		memcpy(module->build_id, build_id, (size_t)build_id_bytes);
		module->build_id_bytes = (uint32_t)build_id_bytes;
	}
	module->problem = seep_reader_text(l, 6);
	return 0;
}

static int frame_row(struct seep_reader *l)
{
	struct seep_profile_frame *frame = seep_reader_add(l, sizeof(*frame));

	if (seep_reader_number(l, 0) != l->item_count)
		return seep_reader_damaged(l, "frame ids have gaps");
	if (seep_reader_number(l, 1) > l->profile->module_count)
		return seep_reader_damaged(l, "a frame names a module that is not there");
	frame->module = (uint32_t)seep_reader_number(l, 1);
	frame->address = seep_reader_number(l, 2);
	frame->exact = seep_reader_flag(l, 3);
	frame->inlined = seep_reader_flag(l, 4);
	frame->function = seep_reader_text(l, 5);
	frame->file = seep_reader_text(l, 6);
	frame->line = seep_reader_small(l, 7, UINT32_MAX);
	return 0;
}

/* A number at **@at, which is moved behind it. Larger ones and what is none come back as @max + 1. */
static uint64_t parse_number(const char **at, uint64_t max)
{
	const char *first = *at;
	uint64_t number = 0;

	for (; **at >= '0' && **at <= '9' && number <= max; ++*at)
		number = number * 10 + (uint64_t)(**at - '0');
	return *at > first && number <= max ? number : max + 1;
}

/* "[7,2,300]", of which the first bracket is read already. */
static bool parse_fold(struct seep_reader *l, const char **at,
		       struct seep_profile_stack_entry *entry)
{
	uint64_t frame = parse_number(at, l->profile->frame_count);
	uint64_t period = *(*at)++ == ',' ? parse_number(at, UINT8_MAX) : UINT64_MAX;
	uint64_t repeats;

	if (period > UINT8_MAX || frame == 0 || frame > l->profile->frame_count)
		return false;
	repeats = *(*at)++ == ',' ? parse_number(at, UINT16_MAX) : UINT64_MAX;
	if (repeats > UINT16_MAX || *(*at)++ != ']')
		return false;
	entry->frame = (uint32_t)frame - 1;
	entry->period = (uint8_t)period;
	entry->repeats = (uint16_t)repeats;
	return true;
}

static bool parse_entry(struct seep_reader *l, const char **at,
			struct seep_profile_stack_entry *entry)
{
	uint64_t frame;

	if (**at == '[') {
		++*at;
		return parse_fold(l, at, entry);
	}
	frame = parse_number(at, l->profile->frame_count);
	if (frame == 0 || frame > l->profile->frame_count)
		return false;
	*entry = (struct seep_profile_stack_entry){ .frame = (uint32_t)frame - 1 };
	return true;
}

/* The entries of one segment, appended to l->entries. @text ends with a 0. */
static bool parse_frames(struct seep_reader *l, const char *text, uint64_t bytes)
{
	const char *at = text;

	/* No entry is shorter than "1,". */
	l->entries = seep_xgrow(l->entries, &l->entry_capacity, l->entry_count + bytes / 2 + 1,
				sizeof(*l->entries));
	if (*at != '[')
		return false;
	do {
		at++;
		if (!parse_entry(l, &at, &l->entries[l->entry_count]))
			return false;
		l->entry_count++;
	} while (*at == ',');
	return at[0] == ']' && at + 1 == text + bytes;
}

static int segment_row(struct seep_reader *l)
{
	const char *text = (const char *)sqlite3_column_text(l->statement, 2);
	uint64_t bytes = (uint64_t)sqlite3_column_bytes(l->statement, 2);
	uint64_t parent = seep_reader_number(l, 1);
	struct seep_reader_segment segment = { .first = l->entry_count };

	if (seep_reader_number(l, 0) != (uint64_t)l->segment_count + 1)
		return seep_reader_damaged(l, "segment ids have gaps");
	if (parent > l->segment_count)
		return seep_reader_damaged(l, "a segment comes before its parent");
	if (!text || bytes > l->text_left || !parse_frames(l, text, bytes))
		return seep_reader_damaged(l, "a segment names frames that are not there");
	l->text_left -= bytes;
	segment.parent = (uint32_t)parent;
	segment.count = (uint32_t)(l->entry_count - segment.first);
	segment.depth = segment.count;
	if (parent &&
	    __builtin_add_overflow(segment.depth, l->segments[parent - 1].depth, &segment.depth))
		return seep_reader_damaged(l, "a stack is longer than any can be");
	l->segments = seep_xgrow(l->segments, &l->segment_capacity, (size_t)l->segment_count + 1,
				 sizeof(*l->segments));
	l->segments[l->segment_count++] = segment;
	return 0;
}

/* Every context has its stack to itself, though the file has what they share only once. */
static void fill_stack(struct seep_reader *l, struct seep_profile_context *context, uint32_t leaf)
{
	uint32_t left = leaf ? l->segments[leaf - 1].depth : 0;
	struct seep_profile_stack_entry *to;

	if (l->stack_entries + left > seep_profile_stack_entries_max(l->held_bytes) &&
	    left > SEEP_PROFILE_CUT_DEPTH) {
		left = SEEP_PROFILE_CUT_DEPTH;
		context->cut = true;
		l->stacks_cut = true;
	}
	l->stack_entries += left;
	context->stack = to = seep_profile_calloc(l->profile, left, sizeof(*context->stack));
	context->stack_count = left;
	while (left) {
		const struct seep_reader_segment *segment = &l->segments[leaf - 1];
		uint32_t count = segment->count < left ? segment->count : left;

		memcpy(to, &l->entries[segment->first], count * sizeof(*to));
		to += count;
		left -= count;
		leaf = segment->parent;
	}
}

static void context_figures(struct seep_reader *l, struct seep_profile_context *context)
{
	context->first_ns = seep_reader_number(l, 12);
	context->allocs = seep_reader_figure(l, 13);
	context->alloc_bytes = seep_reader_figure(l, 14);
	context->frees = seep_reader_figure(l, 15);
	context->freed_bytes = seep_reader_figure(l, 16);
	context->temporary = seep_reader_figure(l, 17);
	context->live_blocks = seep_reader_figure(l, 18);
	context->live_bytes = seep_reader_figure(l, 19);
	context->peak_blocks = seep_reader_figure(l, 20);
	context->peak_bytes = seep_reader_figure(l, 21);
}

static int context_row(struct seep_reader *l)
{
	struct seep_profile_context *context = seep_reader_add(l, sizeof(*context));
	uint64_t id = seep_reader_number(l, 0);
	uint64_t leaf = seep_reader_number(l, 4);

	if (id == 0 || id > UINT32_MAX || (l->item_count > 1 && id <= context[-1].id))
		return seep_reader_damaged(l, "context ids are out of order");
	if (leaf > l->segment_count)
		return seep_reader_damaged(l, "a context names a segment that is not there");
	context->id = (uint32_t)id;
	context->hash = seep_reader_number(l, 1);
	context->kind = (uint8_t)seep_reader_small(l, 2, SEEP_PROFILE_KIND_COUNT - 1);
	context->align_log2 = (uint8_t)seep_reader_small(l, 3, 63);
	context->truncated = seep_reader_flag(l, 5);
	context->cut = seep_reader_flag(l, 6);
	context->no_stack = seep_reader_flag(l, 7);
	context->other = seep_reader_flag(l, 8);
	context->in_doubt = seep_reader_flag(l, 9);
	context->by_frame_pointer = seep_reader_flag(l, 22);
	context->thread = seep_reader_text(l, 10);
	context->scope = seep_reader_text(l, 11);
	context_figures(l, context);
	fill_stack(l, context, (uint32_t)leaf);
	return 0;
}

struct epoch_item {
	uint32_t context;
	struct seep_profile_epoch epoch;
};

static int epoch_row(struct seep_reader *l)
{
	struct epoch_item *item = seep_reader_add(l, sizeof(*item));

	item->context = seep_reader_small(l, 0, UINT32_MAX);
	item->epoch.epoch = seep_reader_small(l, 1, UINT32_MAX);
	item->epoch.blocks = seep_reader_figure(l, 2);
	item->epoch.bytes = seep_reader_figure(l, 3);
	return 0;
}

/* Both sides ascend by context; what names no context ends the run over. */
static int hand_out_epochs(struct seep_reader *l)
{
	const struct epoch_item *items = l->items;
	uint32_t at = 0;

	for (uint32_t i = 0; i < l->profile->context_count; i++) {
		struct seep_profile_context *context = &l->profile->contexts[i];
		uint32_t first = at;

		while (at < l->item_count && items[at].context == context->id)
			at++;
		context->epoch_count = at - first;
		context->epochs = seep_profile_calloc(l->profile, context->epoch_count,
						      sizeof(*context->epochs));
		for (uint32_t e = 0; e < context->epoch_count; e++)
			context->epochs[e] = items[first + e].epoch;
	}
	return at == l->item_count
		       ? 0
		       : seep_reader_damaged(l, "an epoch names a context that is not there");
}

static const struct seep_reader_table tables[] = {
	{ .sql = "SELECT id, path, bias, start_address, end_address, build_id, problem FROM module"
		 " ORDER BY id",
	  .rows_max = MODULES_MAX,
	  .row = module_row,
	  SEEP_READER_INTO(struct seep_profile_module, modules, module_count) },
	{ .sql = "SELECT id, module, address, exact, inlined, function, file, line FROM frame"
		 " ORDER BY id",
	  .rows_max = FRAMES_MAX,
	  .row = frame_row,
	  SEEP_READER_INTO(struct seep_profile_frame, frames, frame_count) },
	{ .sql = "SELECT id, parent, frames FROM segment ORDER BY id",
	  .rows_max = SEGMENTS_MAX,
	  .row = segment_row },
	{ .sql = "SELECT id, hash, kind, align_log2, leaf, truncated, cut, no_stack, other,"
		 " in_doubt, thread, scope, first_ns, allocs, alloc_bytes, frees, freed_bytes,"
		 " temporary, live_blocks, live_bytes, peak_blocks, peak_bytes,"
		 " by_frame_pointer FROM context"
		 " ORDER BY id",
	  .rows_max = CONTEXTS_MAX,
	  .row = context_row,
	  SEEP_READER_INTO(struct seep_profile_context, contexts, context_count) },
	{ .sql = "SELECT context, epoch, blocks, bytes FROM epoch ORDER BY context, epoch",
	  .rows_max = EPOCHS_MAX,
	  .row = epoch_row,
	  .finish = hand_out_epochs },
};

int seep_reader_stacks(struct seep_reader *l)
{
	return seep_reader_tables(l, tables, sizeof(tables) / sizeof(tables[0]));
}
