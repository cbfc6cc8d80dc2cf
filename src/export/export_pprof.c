/* SPDX-License-Identifier: MIT */
/*
 * A profile of pprof: a gzip file of one protobuf message (base/pprof.proto). Samples point to
 * locations, one per address; those to functions, several where calls were inlined; all text is in
 * one table. Some readers fail on a location without mapping or function, so that each has both.
 */
#include "export/export.h"

#include <base/pprof.pb-c.h>

#include "analysis/counts.h"
#include "analysis/scope_sums.h"
#include "analysis/sites.h"
#include "base/arena.h"
#include "base/encode.h"
#include "base/strbuf.h"
#include "base/terminal.h"
#include "base/texts.h"
#include "base/xalloc.h"
#include "export/export_names.h"
#include "profile/kind_name.h"
#include "view/view_head.h"

/* The values of a sample. The first four are called as in heap profiles of Go. */
static const struct {
	const char *name;
	const char *unit;
	int figure;
} values[] = {
	{ "alloc_objects", "count", SEEP_FIGURE_allocs },
	{ "alloc_space", "bytes", SEEP_FIGURE_alloc_bytes },
	{ "inuse_objects", "count", SEEP_FIGURE_live_blocks },
	{ "inuse_space", "bytes", SEEP_FIGURE_live_bytes },
	{ "peak_objects", "count", SEEP_FIGURE_peak_blocks },
	{ "peak_space", "bytes", SEEP_FIGURE_peak_bytes },
	{ "temporary_objects", "count", SEEP_FIGURE_temporary },
};

static const char *const default_values[SEEP_MEASURE_COUNT] = {
	[SEEP_BY_LIVE] = "inuse_space",
	[SEEP_BY_PEAK] = "peak_space",
	[SEEP_BY_ALLOCS] = "alloc_objects",
	[SEEP_BY_TEMPORARY] = "temporary_objects",
};

enum {
	VALUE_COUNT = sizeof(values) / sizeof(values[0]),
	LABELS_MAX = 3,
	NO_STACKS = 2, /* ways to have no stack, each with a function and location of its own */
};

struct builder {
	const struct seep_profile *profile;
	struct seep_export_names names;
	struct seep_sites *sites;
	struct seep_arena *arena;
	struct seep_texts texts;
	/* Ids are indexes in the message's arrays + 1; 0: not there yet. */
	uint64_t *location_of; /* by the innermost frame of an address */
	uint64_t *function_of; /* by function number of the sites */
	uint64_t no_stack[NO_STACKS];
	uint64_t nowhere; /* the mapping of addresses that are in no module */
	Pprof__Profile out;
};

/* A message that lives as long as the arena. */
static void *new_message(struct builder *b, const ProtobufCMessageDescriptor *type)
{
	void *message = seep_arena_alloc(b->arena, type->sizeof_message);

	protobuf_c_message_init(type, message);
	return message;
}

/* The index of @from in the table of text, NULL is "", which is the first. */
static int64_t text(struct builder *b, const char *from)
{
	return seep_texts_number(&b->texts, from ? from : "");
}

/* The same of bytes that need not be the UTF-8 that the format wants. */
static int64_t escaped(struct builder *b, const char *bytes)
{
	SEEP_FREED char *clean = seep_escape_dup(bytes ? bytes : "");

	return text(b, clean);
}

static Pprof__ValueType *value_type(struct builder *b, const char *name, const char *unit)
{
	Pprof__ValueType *type = new_message(b, &pprof__value_type__descriptor);

	type->type = text(b, name);
	type->unit = text(b, unit);
	return type;
}

static Pprof__Mapping *add_mapping(struct builder *b, const char *path)
{
	Pprof__Mapping *mapping = new_message(b, &pprof__mapping__descriptor);

	b->out.mapping[b->out.n_mapping++] = mapping;
	mapping->id = b->out.n_mapping;
	mapping->filename = escaped(b, path);
	return mapping;
}

static int64_t build_id(struct builder *b, const struct seep_profile_module *module)
{
	SEEP_STRBUF(hex, 2 * SEEP_PROFILE_BUILD_ID_BYTES);

	for (uint32_t i = 0; i < module->build_id_bytes; i++)
		seep_strbuf_addf(&hex, "%02x", module->build_id[i]);
	return text(b, hex.text);
}

/* The program's is the first of them: pprof takes that for the file that it is all about. */
static void put_program_first(struct builder *b)
{
	for (uint32_t i = 1; i < b->profile->module_count; i++) {
		Pprof__Mapping *mapping = b->out.mapping[i];

		if (!seep_text_equal(b->profile->modules[i].path, b->profile->process.exe))
			continue;
		b->out.mapping[i] = b->out.mapping[0];
		b->out.mapping[0] = mapping;
		return;
	}
}

/* A module's mapping has the id that frames know it by. */
static void add_mappings(struct builder *b)
{
	const struct seep_profile *profile = b->profile;

	b->out.mapping = seep_arena_calloc(b->arena, (size_t)profile->module_count + 1,
					   sizeof(*b->out.mapping));
	for (uint32_t i = 0; i < profile->module_count; i++) {
		const struct seep_profile_module *module = &profile->modules[i];
		Pprof__Mapping *mapping = add_mapping(b, module->path);

		mapping->memory_start = module->start;
		mapping->memory_limit = module->end;
		mapping->build_id = build_id(b, module);
	}
	/* pprof looks for the names of modules that have none, and leaves the others alone. */
	for (uint32_t i = 0; i < profile->frame_count; i++) {
		const struct seep_profile_frame *frame = &profile->frames[i];
		Pprof__Mapping *mapping;

		if (frame->module == 0 || frame->module > profile->module_count)
			continue;
		mapping = b->out.mapping[frame->module - 1];
		mapping->has_functions |= frame->function != NULL;
		mapping->has_filenames |= frame->file != NULL;
		mapping->has_line_numbers |= frame->line > 0;
		mapping->has_inline_frames |= frame->inlined;
	}
	put_program_first(b);
}

static uint64_t mapping_of(struct builder *b, uint32_t module)
{
	if (module > 0 && module <= b->profile->module_count)
		return module;
	if (b->nowhere == 0) {
		Pprof__Mapping *mapping = add_mapping(b, "(unknown)");

		mapping->has_functions = true;
		b->nowhere = mapping->id;
	}
	return b->nowhere;
}

/*
 * Where both names are alike pprof shortens them as it does when it demangles: by default, without
 * template arguments and parameters; not at all with -symbolize=demangle=full.
 */
static uint64_t add_function(struct builder *b, const char *name, const char *file)
{
	Pprof__Function *function = new_message(b, &pprof__function__descriptor);

	b->out.function[b->out.n_function++] = function;
	function->id = b->out.n_function;
	function->name = function->system_name = text(b, name);
	function->filename = escaped(b, file);
	return function->id;
}

static Pprof__Location *add_location(struct builder *b, uint32_t module, size_t lines)
{
	Pprof__Location *location = new_message(b, &pprof__location__descriptor);

	b->out.location[b->out.n_location++] = location;
	location->id = b->out.n_location;
	location->mapping_id = mapping_of(b, module);
	location->line = seep_arena_calloc(b->arena, lines, sizeof(*location->line));
	return location;
}

static void add_line(struct builder *b, Pprof__Location *location, uint64_t function, uint32_t line)
{
	Pprof__Line *message = new_message(b, &pprof__line__descriptor);

	message->function_id = function;
	message->line = line;
	location->line[location->n_line++] = message;
}

static uint64_t function_of(struct builder *b, uint32_t frame)
{
	uint64_t *id = &b->function_of[b->sites->of_frame[frame].function];

	if (*id == 0)
		*id = add_function(b, seep_export_name(&b->names, frame),
				   b->profile->frames[frame].file);
	return *id;
}

/* The location of the @count entries from @stack on, which are of one address. */
static uint64_t location_of(struct builder *b, const struct seep_profile_stack_entry *stack,
			    uint32_t count)
{
	const struct seep_profile_frame *frames = b->profile->frames;
	const struct seep_profile_frame *outer = &frames[stack[count - 1].frame];
	uint64_t *id = &b->location_of[stack[0].frame];
	Pprof__Location *location;

	if (*id)
		return *id;
	location = add_location(b, outer->module, count);
	location->address = seep_export_pc(b->profile, outer);
	for (uint32_t i = 0; i < count; i++)
		add_line(b, location, function_of(b, stack[i].frame), frames[stack[i].frame].line);
	*id = location->id;
	return *id;
}

static uint64_t no_stack(struct builder *b, const struct seep_profile_context *context)
{
	uint64_t *id = &b->no_stack[context->other];
	Pprof__Location *location;

	if (*id)
		return *id;
	location = add_location(b, 0, 1);
	add_line(b, location, add_function(b, seep_export_no_stack(context->other), NULL), 0);
	*id = location->id;
	return *id;
}

static void add_label(struct builder *b, Pprof__Sample *sample, const char *key, const char *value)
{
	Pprof__Label *label;

	/* Readers take an empty text for a number. */
	if (value == NULL || *value == '\0')
		return;
	label = new_message(b, &pprof__label__descriptor);
	label->key = text(b, key);
	label->str = escaped(b, value);
	sample->label[sample->n_label++] = label;
}

static void add_sample(struct builder *b, const struct seep_profile_context *context)
{
	Pprof__Sample *sample = new_message(b, &pprof__sample__descriptor);
	const struct seep_counts counts = seep_counts_of(context);
	SEEP_FREED char *scope = seep_scope_path(b->profile, context->scope);
	uint32_t entries;

	b->out.sample[b->out.n_sample++] = sample;
	sample->location_id = seep_arena_calloc(b->arena, (size_t)context->stack_count + 1,
						sizeof(*sample->location_id));
	for (uint32_t i = 0; i < context->stack_count; i += entries) {
		entries = seep_export_address(b->profile, &context->stack[i],
					      context->stack_count - i);
		sample->location_id[sample->n_location_id++] = location_of(b, &context->stack[i],
									   entries);
	}
	if (context->stack_count == 0)
		sample->location_id[sample->n_location_id++] = no_stack(b, context);
	sample->value = seep_arena_calloc(b->arena, VALUE_COUNT, sizeof(*sample->value));
	for (size_t i = 0; i < VALUE_COUNT; i++)
		if (seep_figure_is_known(b->profile, values[i].figure))
			sample->value[sample->n_value++] = counts.figures[values[i].figure];
	sample->label = seep_arena_calloc(b->arena, LABELS_MAX, sizeof(*sample->label));
	add_label(b, sample, "kind", seep_profile_kind_name(context->kind));
	add_label(b, sample, "thread", context->thread);
	add_label(b, sample, "scope", scope);
}

static void add_samples(struct builder *b)
{
	const struct seep_profile *profile = b->profile;
	const size_t frames = profile->frame_count;

	b->out.function = seep_arena_calloc(b->arena, frames + NO_STACKS, sizeof(*b->out.function));
	b->out.location = seep_arena_calloc(b->arena, frames + NO_STACKS, sizeof(*b->out.location));
	b->out.sample = seep_arena_calloc(b->arena, profile->context_count, sizeof(*b->out.sample));
	for (uint32_t i = 0; i < profile->context_count; i++)
		add_sample(b, &profile->contexts[i]);
}

static void add_comment(struct builder *b, const char *what, const char *comment)
{
	SEEP_FREED char *line = NULL;

	if (comment == NULL)
		return;
	line = seep_xasprintf("%s: %s", what, comment);
	b->out.comment[b->out.n_comment++] = escaped(b, line);
}

/* What "go tool pprof -comments" prints. */
static void add_comments(struct builder *b, const struct seep_view_options *options)
{
	const struct seep_profile *profile = b->profile;
	SEEP_FREED char *command = seep_view_command(profile);

	b->out.comment = seep_arena_calloc(b->arena, (size_t)profile->unseen_count + 4,
					   sizeof(*b->out.comment));
	add_comment(b, "seep", SEEP_VERSION);
	add_comment(b, "command", command);
	add_comment(b, "only", profile->within ? profile->within->text : NULL);
	add_comment(b, "only", options->shown);
	for (uint32_t i = 0; i < profile->unseen_count; i++)
		add_comment(b, profile->unseen[i].code, profile->unseen[i].detail);
}

static void add_head(struct builder *b, const struct seep_view_options *options)
{
	const struct seep_profile_process *process = &b->profile->process;

	b->out.sample_type = seep_arena_calloc(b->arena, VALUE_COUNT, sizeof(*b->out.sample_type));
	for (size_t i = 0; i < VALUE_COUNT; i++)
		if (seep_figure_is_known(b->profile, values[i].figure))
			b->out.sample_type[b->out.n_sample_type++] = value_type(b, values[i].name,
										values[i].unit);
	b->out.default_sample_type =
		text(b, default_values[seep_view_measure(b->profile, options->by)]);
	/* Every byte was counted. */
	b->out.period_type = value_type(b, "space", "bytes");
	b->out.period = 1;
	b->out.time_nanos = (int64_t)process->start_realtime_ns;
	if (process->end_ns > process->start_ns)
		b->out.duration_nanos = (int64_t)(process->end_ns - process->start_ns);
}

static void write_message(FILE *out, const Pprof__Profile *message)
{
	const size_t bytes = pprof__profile__get_packed_size(message);
	SEEP_FREED uint8_t *packed = seep_xmalloc(bytes);
	FILE *gzip = seep_gzip_open(out, SEEP_GZIP_BEST);

	(void)pprof__profile__pack(message, packed);
	(void)fwrite(packed, 1, bytes, gzip);
	(void)fclose(gzip);
}

void seep_export_pprof(FILE *out, const struct seep_profile *profile,
		       const struct seep_view_options *options)
{
	SEEP_RELEASED(seep_arena_free_at) struct seep_arena *arena = seep_arena_new();
	SEEP_RELEASED(seep_sites_free_at) struct seep_sites *sites = seep_sites_new(profile);
	struct builder b = {
		.profile = profile, .arena = arena, .sites = sites, .out = PPROF__PROFILE__INIT
	};

	b.location_of = seep_arena_calloc(b.arena, profile->frame_count, sizeof(*b.location_of));
	b.function_of = seep_arena_calloc(b.arena, profile->frame_count, sizeof(*b.function_of));
	seep_export_names_init(&b.names, profile);
	(void)text(&b, "");
	add_head(&b, options);
	add_mappings(&b);
	add_samples(&b);
	add_comments(&b, options);
	b.out.string_table = b.texts.items;
	b.out.n_string_table = b.texts.count;
	write_message(out, &b.out);
	seep_texts_done(&b.texts);
	seep_export_names_done(&b.names);
}
