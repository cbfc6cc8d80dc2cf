/* SPDX-License-Identifier: MIT */
/*
 * Ids that other rows refer to are 1, 2, 3 ... in the order of reading: then a reference is checked
 * by one comparison, and none can lead forward or round in a circle.
 */
#include "recording/recording.h"

#include "base/file.h"
#include "profile/kind_name.h"
#include "profile/profile_check.h"
#include "profile/total_fields.h"
#include "recording/recording_rows.h"

#include <stdlib.h>
#include <string.h>

struct seep_loading {
	struct seep_row_reader reader;
	struct seep_profile *profile; /* the reader's builder's */
	uint32_t last_context;	      /* id */
	uint32_t epoch_context;	      /* index of the context that the epochs have reached */
	uint64_t totals_found;	      /* a bit for each of seep_total_fields */
	bool has_process;
	bool argv_known;
};

static int damaged(struct seep_loading *l, const char *what)
{
	return seep_fail(l->reader.err, SEEP_ECORRUPT, "%s", what);
}

static int load_process(struct seep_loading *l, void *row)
{
	const struct seep_process_row *from = row;
	struct seep_profile_process *process = &l->profile->process;

	*process = from->process;
	process->ended = seep_profile_ended_value(from->ended);
	process->origin = seep_profile_origin_value(from->origin);
	process->has_status = from->status_code >= 0 || from->status_signal >= 0;
	if (from->status_code >= 0)
		process->status_code = from->status_code;
	if (from->status_signal >= 0)
		process->status_signal = from->status_signal & 0x7f;
	l->profile->symbolised = from->symbolised;
	l->profile->growth_after_ns = from->growth_after_ns;
	l->argv_known = from->argv_known;
	l->has_process = true;
	return 0;
}

static int check_frame(struct seep_loading *l, void *row)
{
	const struct seep_profile_frame *frame = row;

	return frame->module <= l->profile->module_count
		       ? 0
		       : damaged(l, "a frame names a module that is not there");
}

/* A number at **@at, which is moved behind it; @max + 1 for larger ones and what is none. */
static uint64_t parse_number(const char **at, uint64_t max)
{
	const char *first = *at;
	uint64_t number = 0;

	for (; **at >= '0' && **at <= '9' && number <= max; ++*at)
		number = number * 10 + (uint64_t)(**at - '0');
	return *at > first && number <= max ? number : max + 1;
}

/* A frame, or "[7,2,300]": one that ends a repetition. */
static bool parse_entry(const char **at, uint64_t frames, struct seep_profile_stack_entry *entry)
{
	const bool folded = **at == '[';
	uint64_t frame, period = 0, repeats = 0;

	*at += folded;
	frame = parse_number(at, frames);
	if (folded) {
		period = *(*at)++ == ',' ? parse_number(at, UINT8_MAX) : UINT64_MAX;
		if (period > UINT8_MAX)
			return false;
		repeats = *(*at)++ == ',' ? parse_number(at, UINT16_MAX) : UINT64_MAX;
		if (repeats > UINT16_MAX || *(*at)++ != ']')
			return false;
	}
	*entry = (struct seep_profile_stack_entry){ (uint32_t)frame - 1, (uint8_t)period,
						    (uint16_t)repeats };
	return frame > 0 && frame <= frames;
}

/* How many entries; 0 where the text is no list of them. */
static uint32_t parse_frames(struct seep_loading *l, const char *at, size_t bytes)
{
	const uint64_t frames = l->profile->frame_count;
	/* No entry is shorter than "1,". */
	struct seep_profile_stack_entry *to = seep_builder_room(&l->reader.builder, bytes / 2 + 1);
	uint32_t count = 0;

	if (*at != '[')
		return 0;
	do {
		at++;
		if (!parse_entry(&at, frames, &to[count]))
			return 0;
		count++;
	} while (*at == ',');
	return at[0] == ']' && at[1] == '\0' ? count : 0;
}

static int load_segment(struct seep_loading *l, void *row)
{
	const struct seep_segment_row *from = row;
	struct seep_builder *builder = &l->reader.builder;
	const size_t bytes = strlen(from->frames);
	uint32_t count = 0;

	if (from->parent > builder->piece_count)
		return damaged(l, "a segment comes before its parent");
	if (bytes <= builder->text_left)
		count = parse_frames(l, from->frames, bytes);
	if (count == 0)
		return damaged(l, "a segment names frames that are not there");
	builder->text_left -= bytes;
	return seep_builder_piece(builder, from->parent, count) > 0
		       ? 0
		       : damaged(l, "a stack is longer than any can be");
}

static int load_context(struct seep_loading *l, void *row)
{
	const struct seep_context_row *from = row;
	struct seep_profile_context *to;

	if (from->context.id <= l->last_context)
		return damaged(l, "context ids are out of order");
	if (from->leaf > l->reader.builder.piece_count)
		return damaged(l, "a context names a segment that is not there");
	l->last_context = from->context.id;
	to = seep_profile_add(l->profile, SEEP_ARRAY_CONTEXTS);
	*to = from->context;
	to->expanded = l->profile->symbolised;
	seep_builder_stack(&l->reader.builder, to, from->leaf);
	return 0;
}

static int load_duration(struct seep_loading *l, void *row)
{
	const struct seep_duration_row *from = row;

	if (from->scope == 0 || from->scope > l->profile->scope_count)
		return damaged(l, "a duration names a scope that is not there");
	if (from->bucket >= SEEP_PROFILE_DURATION_BUCKETS)
		return damaged(l, "a duration is longer than any can be");
	l->profile->scopes[from->scope - 1].histogram[from->bucket] = from->exits;
	return 0;
}

/* Both sides ascend by context. */
static int load_epoch(struct seep_loading *l, void *row)
{
	const struct seep_epoch_row *from = row;
	struct seep_profile *profile = l->profile;

	while (l->epoch_context < profile->context_count &&
	       profile->contexts[l->epoch_context].id < from->context)
		l->epoch_context++;
	if (l->epoch_context == profile->context_count ||
	    profile->contexts[l->epoch_context].id != from->context)
		return damaged(l, "an epoch names a context that is not there");
	*(struct seep_profile_epoch *)seep_profile_add(profile, SEEP_ARRAY_EPOCHS) = from->epoch;
	profile->contexts[l->epoch_context].epoch_count++;
	return 0;
}

/* Ids ascend. */
static int by_id(const void *key, const void *context)
{
	const uint32_t id = *(const uint32_t *)key;
	const uint32_t other = ((const struct seep_profile_context *)context)->id;

	return (id > other) - (id < other);
}

static struct seep_profile_context *context_of(const struct seep_loading *l, uint32_t id)
{
	return bsearch(&id, l->profile->contexts, l->profile->context_count,
		       sizeof(*l->profile->contexts), by_id);
}

/* The place of the context with @id; 0: none. */
static uint32_t place_of(struct seep_loading *l, uint32_t id, bool *all_there)
{
	const struct seep_profile_context *context = context_of(l, id);

	*all_there &= !id || context;
	return context ? (uint32_t)(context - l->profile->contexts) + 1 : 0;
}

static int load_leak(struct seep_loading *l, void *row)
{
	const struct seep_leak_row *from = row;
	struct seep_profile_leak *to = seep_profile_add(l->profile, SEEP_ARRAY_LEAKS);
	bool all_there = true;

	*to = from->leak;
	to->context = place_of(l, from->context, &all_there);
	return all_there ? 0 : damaged(l, "a leak names a context that is not there");
}

static int load_finding(struct seep_loading *l, void *row)
{
	struct seep_profile_finding *to = seep_profile_add(l->profile, SEEP_ARRAY_FINDINGS);
	bool all_there = true;

	*to = *(const struct seep_profile_finding *)row;
	to->block = place_of(l, to->block, &all_there);
	to->freed = place_of(l, to->freed, &all_there);
	to->here = place_of(l, to->here, &all_there);
	return all_there ? 0 : damaged(l, "a finding names a context that is not there");
}

static int load_leak_block(struct seep_loading *l, void *row)
{
	const struct seep_leak_block_row *from = row;
	struct seep_profile_leak_block *to = seep_profile_add(l->profile, SEEP_ARRAY_LEAK_BLOCKS);

	if (from->leak == 0 || from->leak > l->profile->leak_count)
		return damaged(l, "a block names a leak that is not there");
	l->profile->leaks[from->leak - 1].block_list_count++;
	*to = from->block;
	return 0;
}

static int load_leak_link(struct seep_loading *l, void *row)
{
	const struct seep_leak_link_row *from = row;
	struct seep_profile_link *to = seep_profile_add(l->profile, SEEP_ARRAY_LINKS);

	if (from->leak == 0 || from->leak > l->profile->leak_count)
		return damaged(l, "a chain names a leak that is not there");
	l->profile->leaks[from->leak - 1].chain_count++;
	*to = from->link;
	return 0;
}

static int load_growth(struct seep_loading *l, void *row)
{
	const struct seep_growth_row *from = row;
	struct seep_profile_context *context = context_of(l, from->context);

	if (!context)
		return damaged(l, "growth names a context that is not there");
	context->growth = seep_profile_calloc(l->profile, 1, sizeof(*context->growth));
	*context->growth = from->growth;
	if (context->growth->until_ns < context->growth->since_ns)
		context->growth->until_ns = context->growth->since_ns;
	return 0;
}

static int load_estimate(struct seep_loading *l, void *row)
{
	const struct seep_estimate_row *from = row;
	struct seep_profile_context *context = context_of(l, from->context);
	uint64_t *errors = l->profile->totals.errors;

	if (from->context && !context)
		return damaged(l, "an estimate names a context that is not there");
	if (context)
		errors = context->errors = seep_profile_calloc(l->profile, SEEP_FIGURE_COUNT,
							       sizeof(*errors));
	memcpy(errors, from->figures, sizeof(from->figures));
	return 0;
}

/* Blocks and links came in the order of the leaks. */
static void place_lists(struct seep_profile *profile)
{
	struct seep_profile_epoch *epochs = profile->epochs;
	uint32_t blocks = 0;
	uint32_t links = 0;

	for (uint32_t i = 0; i < profile->context_count && epochs; i++) {
		profile->contexts[i].epochs = epochs;
		epochs += profile->contexts[i].epoch_count;
	}
	for (uint32_t i = 0; i < profile->leak_count; i++) {
		struct seep_profile_leak *leak = &profile->leaks[i];

		if (leak->block_list_count)
			leak->block_list = &profile->leak_blocks[blocks];
		if (leak->chain_count)
			leak->chain = &profile->links[links];
		blocks += leak->block_list_count;
		links += leak->chain_count;
	}
}

/* Names that are not known here are a newer schema's. */
static int load_total(struct seep_loading *l, void *row)
{
	const struct seep_total_row *from = row;

	for (size_t i = 0; i < seep_total_field_count; i++) {
		const struct seep_total_field *field = &seep_total_fields[i];

		if (strcmp(from->name, field->name) != 0)
			continue;
		if (l->totals_found >> i & 1)
			return damaged(l, "a total is there twice");
		l->totals_found |= 1ull << i;
		seep_total_set(&l->profile->totals, field, from->value);
	}
	return 0;
}

/* A total that is missing must not look like 0, unless the file's schema has none. */
static int check_totals(struct seep_loading *l)
{
	for (size_t i = 0; i < seep_total_field_count; i++)
		if (!(l->totals_found >> i & 1) &&
		    seep_total_fields[i].since <= l->reader.found.schema)
			return seep_fail(l->reader.err, SEEP_ECORRUPT, "it has no total %s",
					 seep_total_fields[i].name);
	return 0;
}

static int (*const each_row[SEEP_TABLE_COUNT])(struct seep_loading *l, void *row) = {
	[SEEP_TABLE_PROCESS] = load_process,	 [SEEP_TABLE_FRAME] = check_frame,
	[SEEP_TABLE_SEGMENT] = load_segment,	 [SEEP_TABLE_CONTEXT] = load_context,
	[SEEP_TABLE_EPOCH] = load_epoch,	 [SEEP_TABLE_TOTAL] = load_total,
	[SEEP_TABLE_LEAK] = load_leak,		 [SEEP_TABLE_LEAK_BLOCK] = load_leak_block,
	[SEEP_TABLE_LEAK_LINK] = load_leak_link, [SEEP_TABLE_GROWTH] = load_growth,
	[SEEP_TABLE_FINDING] = load_finding,	 [SEEP_TABLE_SCOPE_DURATION] = load_duration,
	[SEEP_TABLE_ESTIMATE] = load_estimate,
};

static int load_all(struct seep_loading *l)
{
	struct seep_profile *profile = l->profile;
	int r = 0;

	for (unsigned id = 0; id < SEEP_TABLE_COUNT && r == 0; id++)
		if (each_row[id] || seep_sql_has_place(&seep_sql_tables[id]))
			r = seep_sql_read(&l->reader, id, each_row[id], l);
	if (r == 0 && !l->has_process)
		r = damaged(l, "its table process is empty");
	if (r == 0)
		r = check_totals(l);
	profile->knows_findings = l->reader.found.tables[SEEP_TABLE_FINDING];
	place_lists(profile);
	if (profile->symbolised)
		profile->named_count = profile->frame_count;
	if (l->argv_known)
		(void)seep_profile_add(profile, SEEP_ARRAY_ARGV);
	else
		profile->process.argv = NULL;
	return r;
}

int seep_recording_load(const char *path, struct seep_profile **ret_profile, struct seep_error *err)
{
	struct seep_loading l = { .reader.err = err };
	int r = seep_recording_open_database(path, &l.reader.db, &l.reader.found, err);

	if (r < 0)
		return r;
	seep_builder_init(&l.reader.builder, seep_file_held_bytes(path));
	l.profile = l.reader.builder.profile;
	r = load_all(&l);
	(void)sqlite3_close(l.reader.db);
	if (r == 0) {
		seep_builder_finish(&l.reader.builder);
		r = seep_profile_check(l.profile, err);
	}
	if (r == 0)
		*ret_profile = seep_builder_take(&l.reader.builder);
	seep_builder_done(&l.reader.builder);
	if (r < 0)
		seep_error_prefix(err, "%s: %s", path,
				  r == -SEEP_ECORRUPT ? "damaged" : "cannot be read");
	return r;
}
