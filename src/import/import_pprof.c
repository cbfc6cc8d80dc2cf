/* SPDX-License-Identifier: MIT */
/*
 * Ids of locations, functions and mappings may be any numbers, and samples of one call stack may be
 * many (one for each size, in Go): both are brought together by sorting, which no choice of ids can
 * make slow as it can a hash table.
 */
#include "import/import_pprof.h"

#include "base/arena.h"
#include "base/decode.h"
#include "base/xalloc.h"
#include "import/pprof_message.h"
#include "profile/builder.h"
#include "profile/kind_name.h"
#include "symbol/demangle.h"

#include <base/pprof.pb-c.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_BYTES (UINT64_C(512) << 20)

enum { NAMES_LONGER = 4 };

/* Items of one kind by id. */
struct ids {
	struct id {
		uint64_t id;
		uint32_t index;
	} * items;
	size_t count;
};

/* A function. NULL: not known. */
struct named {
	const char *function, *file;
};

/* The frames of a location. */
struct place {
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
	const Pprof__Profile *in;
	struct seep_builder *builder;
	struct seep_error *err;
	char **texts; /* of the string table, once copied */
	struct ids mappings, functions, locations;
	uint32_t *modules;	    /* by mapping: as in a frame */
	struct named *names;	    /* by function */
	struct place *places;	    /* by location */
	size_t values[VALUE_COUNT]; /* index + 1; 0: it is not in the profile */
	uint64_t mended;
};

static int wrong(struct pprof *p, const char *what, uint64_t number)
{
	return seep_fail(p->err, SEEP_ECORRUPT, "%s %" PRIu64, what, number);
}

/* ---- ids ----------------------------------------------------------------------------------- */

static int by_id(const void *a, const void *b)
{
	const struct id *left = a, *right = b;

	return (left->id > right->id) - (left->id < right->id);
}

static int sort_ids(struct pprof *p, struct ids *ids, const char *what)
{
	qsort(ids->items, ids->count, sizeof(*ids->items), by_id);
	for (size_t i = 0; i < ids->count; i++) {
		if (ids->items[i].id == 0)
			return seep_fail(p->err, SEEP_ECORRUPT, "a %s has the id 0", what);
		if (i > 0 && ids->items[i].id == ids->items[i - 1].id)
			return seep_fail(p->err, SEEP_ECORRUPT,
					 "two of its %ss have the id %" PRIu64, what,
					 ids->items[i].id);
	}
	return 0;
}

#define TAKE_IDS(p, ids, array, number)                                           \
	do {                                                                      \
		(ids)->count = (number);                                          \
		(ids)->items = seep_xcalloc((number) + 1, sizeof(*(ids)->items)); \
		for (uint32_t i = 0; i < (number); i++)                           \
			(ids)->items[i] = (struct id){ (array)[i]->id, i };       \
	} while (0)

static int take_ids(struct pprof *p)
{
	int r;

	TAKE_IDS(p, &p->mappings, p->in->mapping, p->in->n_mapping);
	TAKE_IDS(p, &p->functions, p->in->function, p->in->n_function);
	TAKE_IDS(p, &p->locations, p->in->location, p->in->n_location);
	r = sort_ids(p, &p->mappings, "mapping");
	if (r == 0)
		r = sort_ids(p, &p->functions, "function");
	return r == 0 ? sort_ids(p, &p->locations, "location") : r;
}

/* Most ids are 1, 2, 3 ... */
static bool find(const struct ids *ids, uint64_t id, uint32_t *ret_index)
{
	const struct id key = { .id = id };
	const struct id *found = id - 1 < ids->count && ids->items[id - 1].id == id
					 ? &ids->items[id - 1]
					 : bsearch(&key, ids->items, ids->count, sizeof(key),
						   by_id);

	if (found)
		*ret_index = found->index;
	return found != NULL;
}

/* ---- text ---------------------------------------------------------------------------------- */

/* *@ret: NULL for the empty string, which stands for what is not known. */
static int text(struct pprof *p, int64_t index, const char **ret)
{
	const char *from;

	if (index < 0 || (uint64_t)index >= p->in->n_string_table)
		return seep_fail(p->err, SEEP_ECORRUPT,
				 "string %" PRId64 " is not in its table of %zu", index,
				 p->in->n_string_table);
	from = p->in->string_table[index];
	if (!p->texts[index] && *from)
		p->texts[index] = seep_builder_text(p->builder, from, strlen(from));
	*ret = p->texts[index];
	return 0;
}

/* Its short form lacks parameters; the linker's name has all of it. */
static const char *demangled(struct pprof *p, const char *name)
{
	struct seep_arena *arena;
	const char *whole;

	if (!name || name[0] != '_')
		return NULL;
	arena = seep_arena_new();
	whole = seep_demangle(arena, name);
	if (whole)
		whole = seep_builder_text(p->builder, whole, strlen(whole));
	seep_arena_free(arena);
	return whole;
}

/* "libfoo.so.1 + 0x1f2a", which stands for a name that is not known in what we export. */
static bool is_address(const char *name)
{
	const char *at = name ? strstr(name, " + 0x") : NULL;

	return at && at[5] && at[5 + strspn(at + 5, "0123456789abcdef")] == '\0';
}

static int take_functions(struct pprof *p)
{
	p->names = seep_xcalloc(p->in->n_function + 1, sizeof(*p->names));
	for (size_t i = 0; i < p->in->n_function; i++) {
		const Pprof__Function *from = p->in->function[i];
		struct named *to = &p->names[i];
		const char *linkage_name, *whole;
		int r = text(p, from->name, &to->function);

		if (r == 0)
			r = text(p, from->system_name, &linkage_name);
		if (r == 0)
			r = text(p, from->filename, &to->file);
		if (r < 0)
			return r;
		whole = demangled(p, linkage_name ? linkage_name : to->function);
		if (whole)
			to->function = whole;
		if (is_address(to->function))
			to->function = NULL;
	}
	return 0;
}

/* ---- modules and frames -------------------------------------------------------------------- */

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
static int take_mappings(struct pprof *p)
{
	struct seep_profile *profile = p->builder->profile;

	p->modules = seep_xcalloc(p->in->n_mapping + 1, sizeof(*p->modules));
	for (size_t i = 0; i < p->in->n_mapping; i++) {
		const Pprof__Mapping *from = p->in->mapping[i];
		const char *path, *build_id;
		int r = text(p, from->filename, &path);

		if (r == 0)
			r = text(p, from->build_id, &build_id);
		if (r < 0)
			return r;
		if (!path)
			continue;
		p->modules[i] = seep_import_module(profile, path, from->memory_start,
						   from->memory_limit, from->file_offset);
		take_build_id(&profile->modules[p->modules[i] - 1], build_id);
		/* The first is the program's. */
		if (i == 0 && path[0] != '[')
			profile->process.exe = seep_profile_strdup(profile, path);
	}
	return 0;
}

static int frame_of(struct pprof *p, const Pprof__Location *from, struct seep_profile_frame *ret)
{
	const struct seep_profile *profile = p->builder->profile;
	uint32_t mapping;

	if (from->mapping_id && !find(&p->mappings, from->mapping_id, &mapping))
		return wrong(p, "a location is in the missing mapping", from->mapping_id);
	/* They are those of calls: what follows is where these return to. */
	*ret = (struct seep_profile_frame){
		.module = from->mapping_id ? p->modules[mapping] : 0,
		.address = from->address + (from->address != 0),
	};
	if (ret->module && from->address)
		ret->address -= profile->modules[ret->module - 1].bias;
	return 0;
}

static int add_lines(struct pprof *p, const Pprof__Location *from,
		     const struct seep_profile_frame *frame)
{
	for (size_t i = 0; i < from->n_line; i++) {
		const Pprof__Line *line = from->line[i];
		struct seep_profile_frame *to = seep_profile_add(p->builder->profile,
								 SEEP_ARRAY_FRAMES);
		uint32_t function;

		*to = *frame;
		to->inlined = i + 1 < from->n_line;
		if (line->line > 0 && line->line <= UINT32_MAX)
			to->line = (uint32_t)line->line;
		if (line->function_id == 0)
			continue;
		if (!find(&p->functions, line->function_id, &function))
			return wrong(p, "a location is in the missing function", line->function_id);
		to->function = p->names[function].function;
		to->file = p->names[function].file;
	}
	return 0;
}

/* A line without a function has no name to keep: "go tool pprof" makes such of C++ names. */
static bool has_name(const struct pprof *p, const Pprof__Location *location)
{
	uint32_t function;

	for (size_t i = 0; i < location->n_line; i++)
		if (find(&p->functions, location->line[i]->function_id, &function) &&
		    p->names[function].function)
			return true;
	return false;
}

/* Those with names, or those without: names are looked up of what comes last. */
static int take_locations(struct pprof *p, bool named)
{
	struct seep_profile *profile = p->builder->profile;

	for (size_t i = 0; i < p->in->n_location; i++) {
		const Pprof__Location *from = p->in->location[i];
		struct seep_profile_frame frame;
		int r;

		if (has_name(p, from) != named)
			continue;
		p->places[i].first = profile->frame_count;
		r = frame_of(p, from, &frame);
		if (r == 0 && named)
			r = add_lines(p, from, &frame);
		if (r < 0)
			return r;
		if (!named)
			*(struct seep_profile_frame *)seep_profile_add(profile,
								       SEEP_ARRAY_FRAMES) = frame;
		p->places[i].count = profile->frame_count - p->places[i].first;
	}
	if (named)
		profile->named_count = profile->frame_count;
	return 0;
}

/* ---- samples ------------------------------------------------------------------------------- */

static bool is_text(const struct pprof *p, int64_t index, const char *wanted)
{
	return index >= 0 && (uint64_t)index < p->in->n_string_table &&
	       strcmp(p->in->string_table[index], wanted) == 0;
}

static int take_types(struct pprof *p)
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
	if (p->values[ALLOC_SPACE] || p->values[INUSE_SPACE])
		return 0;
	return seep_fail(p->err, SEEP_EUNSUPPORTED,
			 "it is no heap profile: no sample type is inuse_space or alloc_space");
}

/* What the producer, we most often, says of a sample. Indexes of strings, or 0. */
enum label { THREAD, SCOPE, KIND, LABEL_COUNT };

static void find_labels(const struct pprof *p, const Pprof__Sample *sample,
			int64_t ret[LABEL_COUNT])
{
	static const char *const keys[LABEL_COUNT] = { "thread", "scope", "kind" };

	memset(ret, 0, LABEL_COUNT * sizeof(*ret));
	for (size_t i = 0; i < sample->n_label; i++)
		for (int k = 0; k < LABEL_COUNT; k++)
			if (is_text(p, sample->label[i]->key, keys[k]))
				ret[k] = sample->label[i]->str;
}

static int by_stack(const void *a, const void *b, void *user)
{
	const struct pprof *p = user;
	const Pprof__Sample *left = *(Pprof__Sample *const *)a, *right = *(Pprof__Sample *const *)b;
	int64_t labels[2][LABEL_COUNT];
	int order = 0;

	if (left->n_location_id != right->n_location_id)
		return left->n_location_id < right->n_location_id ? -1 : 1;
	if (left->n_location_id)
		order = memcmp(left->location_id, right->location_id,
			       left->n_location_id * sizeof(*left->location_id));
	if (order != 0)
		return order;
	find_labels(p, left, labels[0]);
	find_labels(p, right, labels[1]);
	return memcmp(labels[0], labels[1], sizeof(labels[0]));
}

static int add_values(struct pprof *p, const Pprof__Sample *sample, uint64_t sums[VALUE_COUNT])
{
	if (sample->n_value != p->in->n_sample_type)
		return wrong(p, "the number of a sample's values is not that of sample types but",
			     sample->n_value);
	for (size_t i = 0; i < VALUE_COUNT; i++) {
		const int64_t value = p->values[i] ? sample->value[p->values[i] - 1] : 0;

		if (value < 0)
			return seep_fail(p->err, SEEP_ECORRUPT,
					 "a sample has the negative value %" PRId64, value);
		if (__builtin_add_overflow(sums[i], (uint64_t)value, &sums[i]))
			return seep_fail(p->err, SEEP_ELIMIT, "its values sum to over 2^64");
	}
	return 0;
}

static int take_stack(struct pprof *p, const Pprof__Sample *sample, uint32_t *ret_piece)
{
	struct seep_profile_stack_entry *to;
	uint64_t entries = 0;
	uint32_t location;

	*ret_piece = 0;
	for (size_t i = 0; i < sample->n_location_id; i++) {
		if (!find(&p->locations, sample->location_id[i], &location))
			return wrong(p, "a sample is of the missing location",
				     sample->location_id[i]);
		entries += p->places[location].count;
	}
	if (entries == 0)
		return 0;
	if (p->builder->piece_entry_count + entries > p->builder->entries_max)
		return seep_fail(p->err, SEEP_ELIMIT,
				 "its call stacks have over %" PRIu64 " frames together",
				 p->builder->entries_max);
	to = seep_builder_room(p->builder, entries);
	for (size_t i = 0; i < sample->n_location_id; i++) {
		(void)find(&p->locations, sample->location_id[i], &location);
		for (uint32_t k = 0; k < p->places[location].count; k++)
			(to++)->frame = p->places[location].first + k;
	}
	*ret_piece = seep_builder_piece(p->builder, 0, (uint32_t)entries);
	return 0;
}

static void describe(struct pprof *p, struct seep_profile_context *context,
		     const uint64_t sums[VALUE_COUNT], const int64_t labels[LABEL_COUNT])
{
	context->thread = p->texts[labels[THREAD]];
	context->scope = p->texts[labels[SCOPE]];
	context->peak_blocks = sums[PEAK_OBJECTS];
	context->peak_bytes = sums[PEAK_SPACE];
	context->temporary = sums[TEMPORARY_OBJECTS];
	for (uint8_t kind = 0; kind < LEDGER_KIND_COUNT; kind++)
		if (is_text(p, labels[KIND], seep_profile_kind_name(kind)))
			context->kind = kind;
}

/* Samples of one stack, the first @count of @samples. */
static int take_context(struct pprof *p, Pprof__Sample *const *samples, size_t count)
{
	struct seep_profile *profile = p->builder->profile;
	uint64_t sums[VALUE_COUNT] = { 0 };
	int64_t labels[LABEL_COUNT];
	const char *unused;
	uint32_t piece;
	int r = 0;

	find_labels(p, samples[0], labels);
	for (int i = 0; i < LABEL_COUNT && r == 0; i++)
		r = text(p, labels[i], &unused);
	for (size_t i = 0; i < count && r == 0; i++)
		r = add_values(p, samples[i], sums);
	if (r == 0)
		r = take_stack(p, samples[0], &piece);
	if (r < 0)
		return r;
	seep_import_add(p->builder,
			&(struct seep_import_figures){ sums[ALLOC_OBJECTS], sums[ALLOC_SPACE],
						       sums[INUSE_OBJECTS], sums[INUSE_SPACE] },
			piece, &p->mended);
	describe(p, &profile->contexts[profile->context_count - 1], sums, labels);
	return 0;
}

static int take_samples(struct pprof *p)
{
	const size_t count = p->in->n_sample;
	Pprof__Sample **samples = count ? seep_xmemdup(p->in->sample, count * sizeof(void *))
					: NULL;
	size_t next;
	int r = 0;

	if (count)
		qsort_r(samples, count, sizeof(void *), by_stack, p);
	for (size_t i = 0; i < count && r == 0; i = next) {
		for (next = i + 1; next < count && by_stack(&samples[i], &samples[next], p) == 0;)
			next++;
		r = take_context(p, &samples[i], next - i);
	}
	free(samples);
	return r;
}

/* ---- all of it ----------------------------------------------------------------------------- */

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
					  .mended = p->mended,
				  });
}

static int convert(struct pprof *p)
{
	int r;

	p->texts = seep_xcalloc(p->in->n_string_table + 1, sizeof(*p->texts));
	p->places = seep_xcalloc(p->in->n_location + 1, sizeof(*p->places));
	r = take_types(p);
	if (r == 0)
		r = take_ids(p);
	if (r == 0)
		r = take_functions(p);
	if (r == 0)
		r = take_mappings(p);
	if (r == 0)
		r = take_locations(p, true);
	if (r == 0)
		r = take_locations(p, false);
	if (r == 0)
		r = take_samples(p);
	if (r == 0)
		tell(p);
	free(p->texts);
	free(p->places);
	free(p->modules);
	free(p->names);
	free(p->mappings.items);
	free(p->functions.items);
	free(p->locations.items);
	return r;
}

static int read_pprof(struct seep_decoder *source, struct seep_builder *builder,
		      struct seep_error *err)
{
	struct pprof p = { .builder = builder, .err = err };
	struct seep_arena *arena = seep_arena_new();
	char *data = NULL;
	size_t bytes;
	int r = seep_decoder_read_all(source, &data, &bytes, err);

	if (r == 0)
		r = seep_pprof_unpack(data, bytes, arena, &p.in, err);
	if (r == 0) {
		/* Names in full are longer than the linker's. */
		seep_builder_hold(builder, NAMES_LONGER * bytes);
		r = convert(&p);
	}
	seep_arena_free(arena);
	free(data);
	return r;
}

const struct seep_importer seep_import_pprof = {
	.name = "pprof",
	.lacks = "the process, its allocator, and not always by which function it allocated",
	.max_bytes = MAX_BYTES,
	.detects = seep_pprof_is_one,
	.read = read_pprof,
};
