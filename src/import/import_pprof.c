/* SPDX-License-Identifier: MIT */
/*
 * Ids of locations, functions and mappings may be any numbers: they are found by sorting, which no
 * choice of ids can make slow as it can a hash table.
 */
#include "import/import.h"

#include "base/arena.h"
#include "base/decode.h"
#include "base/search.h"
#include "profile/builder.h"
#include "profile/kind_name.h"
#include "symbol/demangle.h"

#include <base/pprof.pb-c.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define MAX_BYTES (UINT64_C(512) << 20)
/* What its messages may take in memory; those of real profiles take 8 times their bytes. */
#define UNPACKED_MIN_BYTES (UINT64_C(64) << 20)

enum { UNPACKED_PER_BYTE = 16, NAMES_LONGER = 4 };

struct module {
	uint64_t id;	 /* of the mapping */
	uint32_t number; /* as in a frame */
};

/* A function. NULL: not known. */
struct named {
	uint64_t id;
	const char *function, *file;
};

/* The frames of a location. */
struct place {
	uint64_t id;
	uint32_t first, count;
};

/* A sample type that we know, and which of a sample's values has it. */
enum value {
	ALLOC_OBJECTS,
	ALLOC_SPACE,
	INUSE_OBJECTS,
	INUSE_SPACE,
	PEAK_OBJECTS,
	PEAK_SPACE,
	TEMPORARY_OBJECTS,
	VALUE_COUNT
};

struct pprof {
	Pprof__Profile *in;
	struct seep_builder *builder;
	struct seep_error *err;
	int r;			  /* 0 until something failed */
	struct seep_arena *arena; /* of all that is here */
	uint64_t unpacked_left;
	char **texts; /* of the string table; NULL for the empty one, which stands for unknown */
	/* As many as mappings, functions and locations, sorted by their ids. */
	struct module *modules;
	struct named *names;
	struct place *places;
	size_t values[VALUE_COUNT]; /* index + 1; 0: it is not in the profile */
};

/* The first failure is kept. */
static SEEP_PRINTF(3, 4) void fail(struct pprof *p, enum seep_code code, const char *fmt, ...)
{
	char sentence[SEEP_ERROR_TEXT_BYTES];
	va_list args;

	if (p->r < 0)
		return;
	va_start(args, fmt);
	(void)vsnprintf(sentence, sizeof(sentence), fmt, args);
	va_end(args);
	p->r = seep_fail(p->err, code, "%s", sentence);
}

/* protobuf-c would take as much as the bytes say. */
static void *take_memory(void *user, size_t bytes)
{
	struct pprof *p = user;

	if (bytes > p->unpacked_left) {
		p->unpacked_left = 0;
		return NULL;
	}
	p->unpacked_left -= bytes;
	return seep_arena_alloc(p->arena, bytes);
}

static void give_memory(void *user, void *memory)
{
	(void)user;
	(void)memory;
}

static void unpack(struct pprof *p, const char *data, size_t bytes)
{
	ProtobufCAllocator allocator = { take_memory, give_memory, p };

	p->unpacked_left = UNPACKED_MIN_BYTES + UNPACKED_PER_BYTE * bytes;
	p->in = pprof__profile__unpack(&allocator, bytes, (const uint8_t *)data);
	if (!p->in && p->unpacked_left == 0)
		fail(p, SEEP_ELIMIT, "its messages take more than %d times its bytes in memory",
		     UNPACKED_PER_BYTE);
	else if (!p->in)
		fail(p, SEEP_ECORRUPT, "it is no complete message of profile.proto");
}

/* Sort items, each of which begins with its id. */
static void sort_items(struct pprof *p, void *items, size_t count, size_t item_bytes,
		       const char *what)
{
	uint64_t id, before = 0;

	seep_search_sort(items, count, item_bytes);
	for (size_t i = 0; i < count; i++, before = id) {
		memcpy(&id, (const char *)items + i * item_bytes, sizeof(id));
		if (id == 0)
			fail(p, SEEP_ECORRUPT, "a %s has the id 0", what);
		else if (id == before)
			fail(p, SEEP_ECORRUPT, "two of its %ss have the id %" PRIu64, what, id);
	}
}

static void *find(struct pprof *p, const void *items, size_t count, size_t item_bytes,
		  const char *what, uint64_t id)
{
	void *found = seep_search_item(items, count, item_bytes, id);

	if (!found)
		fail(p, SEEP_ECORRUPT, "it refers to the missing %s %" PRIu64, what, id);
	return found;
}

static void take_texts(struct pprof *p)
{
	p->texts = seep_arena_calloc(p->arena, p->in->n_string_table, sizeof(*p->texts));
	for (size_t i = 0; i < p->in->n_string_table; i++)
		if (*p->in->string_table[i])
			p->texts[i] = seep_builder_text(p->builder, p->in->string_table[i],
							strlen(p->in->string_table[i]));
}

static char *text(struct pprof *p, int64_t index)
{
	if (index >= 0 && (uint64_t)index < p->in->n_string_table)
		return p->texts[index];
	fail(p, SEEP_ECORRUPT, "string %" PRId64 " is not in its table of %zu", index,
	     p->in->n_string_table);
	return NULL;
}

static bool is_text(struct pprof *p, int64_t index, const char *wanted)
{
	const char *have = text(p, index);

	return have && strcmp(have, wanted) == 0;
}

/* "libfoo.so.1 + 0x1f2a", which stands for a name that is not known in what we export. */
static bool is_address(const char *name)
{
	const char *at = name ? strstr(name, " + 0x") : NULL;

	return at && at[5] && at[5 + strspn(at + 5, "0123456789abcdef")] == '\0';
}

/* The short form lacks parameters; the linker's name has all of it. NULL: it is none. */
static const char *demangled(struct pprof *p, const char *linkage_name)
{
	SEEP_RELEASED(seep_arena_free_at) struct seep_arena *arena = NULL;
	const char *name;

	if (!linkage_name || linkage_name[0] != '_')
		return NULL;
	arena = seep_arena_new();
	name = seep_demangle(arena, linkage_name);
	return name ? seep_builder_text(p->builder, name, strlen(name)) : NULL;
}

static void take_function(struct pprof *p, const Pprof__Function *from, struct named *to)
{
	const char *name = text(p, from->name), *linkage_name = text(p, from->system_name);

	to->id = from->id;
	to->function = demangled(p, linkage_name ? linkage_name : name);
	if (!to->function && !is_address(name))
		to->function = name;
	to->file = text(p, from->filename);
}

/* As hexadecimal digits; Go's own build ids are none of the linker's. */
static void take_build_id(struct seep_profile_module *to, const char *digits)
{
	const size_t count = digits ? strlen(digits) : 0;

	if (count % 2 || count / 2 > sizeof(to->build_id) ||
	    (count && strspn(digits, "0123456789abcdefABCDEF") != count))
		return;
	for (size_t i = 0; i < count; i += 2)
		(void)sscanf(digits + i, "%2hhx", &to->build_id[i / 2]);
	to->build_id_bytes = (uint32_t)(count / 2);
}

/* What has no file is no module: its addresses mean nothing elsewhere. */
static void take_mapping(struct pprof *p, const Pprof__Mapping *from, struct module *to)
{
	struct seep_profile *profile = p->builder->profile;
	const char *path = text(p, from->filename);

	to->id = from->id;
	if (!path)
		return;
	to->number = seep_import_module(profile, path, from->memory_start, from->memory_limit,
					from->file_offset);
	take_build_id(&profile->modules[to->number - 1], text(p, from->build_id));
}

/* Lines without a name have nothing to keep: "go tool pprof" makes such of C++ names. */
static void take_line(struct pprof *p, const Pprof__Line *from, struct seep_profile_frame frame)
{
	const struct named *name = NULL;

	if (from->function_id)
		name = find(p, p->names, p->in->n_function, sizeof(*name), "function",
			    from->function_id);
	if (!name || !name->function)
		return;
	frame.inlined = true;
	frame.function = name->function;
	frame.file = name->file;
	if (from->line > 0 && from->line <= UINT32_MAX)
		frame.line = (uint32_t)from->line;
	*(struct seep_profile_frame *)seep_profile_add(p->builder->profile,
						       SEEP_ARRAY_FRAMES) = frame;
}

static void take_location(struct pprof *p, const Pprof__Location *from, struct place *place)
{
	struct seep_profile *profile = p->builder->profile;
	/* They are those of calls: what follows is where these return to. */
	struct seep_profile_frame frame = { .address = from->address + (from->address != 0) };
	const struct module *module = NULL;

	place->id = from->id;
	if (from->mapping_id)
		module = find(p, p->modules, p->in->n_mapping, sizeof(*module), "mapping",
			      from->mapping_id);
	frame.module = module ? module->number : 0;
	if (frame.module && from->address)
		frame.address -= profile->modules[frame.module - 1].bias;
	place->first = profile->frame_count;
	for (size_t i = 0; i < from->n_line; i++)
		take_line(p, from->line[i], frame);
	if (profile->frame_count == place->first)
		*(struct seep_profile_frame *)seep_profile_add(profile, SEEP_ARRAY_FRAMES) = frame;
	profile->frames[profile->frame_count - 1].inlined = false;
	place->count = profile->frame_count - place->first;
}

static void take_tables(struct pprof *p)
{
	Pprof__Profile *in = p->in;
	/* The first mapping is the program's. */
	char *exe = in->n_mapping ? text(p, in->mapping[0]->filename) : NULL;

	p->builder->profile->process.exe = exe && exe[0] != '[' ? exe : NULL;
	p->modules = seep_arena_calloc(p->arena, in->n_mapping, sizeof(*p->modules));
	p->names = seep_arena_calloc(p->arena, in->n_function, sizeof(*p->names));
	p->places = seep_arena_calloc(p->arena, in->n_location, sizeof(*p->places));
	for (size_t i = 0; p->r == 0 && i < in->n_mapping; i++)
		take_mapping(p, in->mapping[i], &p->modules[i]);
	sort_items(p, p->modules, in->n_mapping, sizeof(*p->modules), "mapping");
	for (size_t i = 0; p->r == 0 && i < in->n_function; i++)
		take_function(p, in->function[i], &p->names[i]);
	sort_items(p, p->names, in->n_function, sizeof(*p->names), "function");
	for (size_t i = 0; p->r == 0 && i < in->n_location; i++)
		take_location(p, in->location[i], &p->places[i]);
	sort_items(p, p->places, in->n_location, sizeof(*p->places), "location");
}

static void take_types(struct pprof *p)
{
	static const struct {
		const char *name, *unit;
		enum value value;
	} known[] = {
		{ "alloc_objects", "count", ALLOC_OBJECTS },
		{ "alloc_space", "bytes", ALLOC_SPACE },
		{ "inuse_objects", "count", INUSE_OBJECTS },
		{ "inuse_space", "bytes", INUSE_SPACE },
		{ "objects", "count", INUSE_OBJECTS },
		{ "space", "bytes", INUSE_SPACE },
		/* Our own. */
		{ "peak_objects", "count", PEAK_OBJECTS },
		{ "peak_space", "bytes", PEAK_SPACE },
		{ "temporary_objects", "count", TEMPORARY_OBJECTS },
	};

	for (size_t i = 0; i < p->in->n_sample_type; i++)
		for (size_t k = 0; k < sizeof(known) / sizeof(known[0]); k++)
			if (is_text(p, p->in->sample_type[i]->type, known[k].name) &&
			    is_text(p, p->in->sample_type[i]->unit, known[k].unit) &&
			    p->values[known[k].value] == 0)
				p->values[known[k].value] = i + 1;
	if (!p->values[ALLOC_SPACE] && !p->values[INUSE_SPACE])
		fail(p, SEEP_EUNSUPPORTED,
		     "it is no heap profile: no sample type is inuse_space or alloc_space");
}

/* Returns its piece of the builder's. */
static uint32_t take_stack(struct pprof *p, const Pprof__Sample *sample)
{
	uint64_t count = 0;

	for (size_t i = 0; i < sample->n_location_id; i++) {
		struct seep_profile_stack_entry *to;
		const struct place *place;

		place = find(p, p->places, p->in->n_location, sizeof(*place), "location",
			     sample->location_id[i]);
		if (!place)
			return 0;
		if (p->builder->piece_entry_count + count + place->count >
		    p->builder->entries_max) {
			fail(p, SEEP_ELIMIT,
			     "its call stacks have over %" PRIu64 " frames together",
			     p->builder->entries_max);
			return 0;
		}
		to = seep_builder_room(p->builder, count + place->count);
		for (uint32_t k = 0; k < place->count; k++)
			to[count++] = (struct seep_profile_stack_entry){ place->first + k, 0, 0 };
	}
	return count ? seep_builder_piece(p->builder, 0, (uint32_t)count) : 0;
}

/* What the producer, we most often, says of a sample. */
static void take_label(struct pprof *p, const Pprof__Label *label, struct seep_profile_context *to)
{
	char *value = text(p, label->str);

	if (is_text(p, label->key, "thread"))
		to->thread = value;
	else if (value && is_text(p, label->key, "kind"))
		for (uint8_t kind = 0; kind < LEDGER_KIND_COUNT; kind++)
			if (strcmp(value, seep_profile_kind_name(kind)) == 0)
				to->kind = kind;
}

static void take_sample(struct pprof *p, const Pprof__Sample *sample)
{
	struct seep_profile_context *context;
	uint64_t values[VALUE_COUNT] = { 0 };

	if (sample->n_value != p->in->n_sample_type)
		fail(p, SEEP_ECORRUPT,
		     "the number of a sample's values is not that of sample types but %zu",
		     sample->n_value);
	for (size_t i = 0; p->r == 0 && i < VALUE_COUNT; i++) {
		const int64_t value = p->values[i] ? sample->value[p->values[i] - 1] : 0;

		if (value < 0)
			fail(p, SEEP_ECORRUPT, "a sample has the negative value %" PRId64, value);
		values[i] = (uint64_t)value;
	}
	context = seep_import_add(
		p->builder,
		&(struct seep_import_figures){ values[ALLOC_OBJECTS], values[ALLOC_SPACE],
					       values[INUSE_OBJECTS], values[INUSE_SPACE] },
		take_stack(p, sample));
	context->peak_blocks = values[PEAK_OBJECTS];
	context->peak_bytes = values[PEAK_SPACE];
	context->temporary = values[TEMPORARY_OBJECTS];
	for (size_t i = 0; i < sample->n_label; i++)
		take_label(p, sample->label[i], context);
}

static void tell(struct pprof *p)
{
	struct seep_profile *profile = p->builder->profile;
	const Pprof__ValueType *type = p->in->period_type;
	const bool in_bytes = type && is_text(p, type->unit, "bytes") && p->in->period > 0;

	if (p->in->duration_nanos > 0 && p->in->time_nanos > 0) {
		profile->process.start_realtime_ns = (uint64_t)p->in->time_nanos;
		profile->process.end_ns = (uint64_t)p->in->duration_nanos;
	}
	seep_import_tell(profile, (struct seep_import_knowledge){
					  .allocs = p->values[ALLOC_SPACE] != 0,
					  .live = p->values[INUSE_SPACE] != 0,
					  .peak = p->values[PEAK_SPACE] != 0,
					  .period_bytes = in_bytes ? (uint64_t)p->in->period : 0,
				  });
}

static int read_pprof(struct seep_decoder *source, struct seep_builder *builder,
		      struct seep_error *err)
{
	struct pprof p = { .builder = builder, .err = err, .arena = seep_arena_new() };
	SEEP_FREED char *data = NULL;
	size_t bytes;

	p.r = seep_decoder_read_all(source, &data, &bytes, err);
	if (p.r == 0)
		unpack(&p, data, bytes);
	if (p.r == 0) {
		/* Names in full are longer than the linker's. */
		seep_builder_hold(builder, NAMES_LONGER * bytes);
		take_texts(&p);
		take_types(&p);
		take_tables(&p);
		for (size_t i = 0; p.r == 0 && i < p.in->n_sample; i++)
			take_sample(&p, p.in->sample[i]);
		tell(&p);
	}
	seep_arena_free(p.arena);
	return p.r;
}

/* Its first field is a sample type or, in Go's, the type of periods, whose first is a number. */
static bool is_pprof(const char *head, size_t bytes)
{
	return bytes > 3 && (head[0] == '\x0a' || head[0] == '\x5a') && head[1] < 32 &&
	       head[2] == '\x08';
}

const struct seep_importer seep_import_pprof = {
	.name = "pprof",
	.lacks = "the process, its allocator, and not always by which function it allocated",
	.max_bytes = MAX_BYTES,
	.detects = is_pprof,
	.read = read_pprof,
};
