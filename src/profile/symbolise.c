/* SPDX-License-Identifier: MIT */
/*
 * Each distinct address is looked up once, in order of module and address, so that the symbol
 * index and the file's pages are walked in one direction. A frame keeps its index and gets the name
 * of the function that is really on the stack; names that were inlined into it are frames at the
 * end, and entries of their own in the stacks that pass through it.
 */
#include "profile/symbolise.h"

#include "base/progress.h"
#include "base/search.h"
#include "base/work.h"
#include "base/xalloc.h"
#include "profile/profile.h"
#include "symbol/perf_map.h"
#include "symbol/symbol.h"

#include <stdlib.h>
#include <string.h>

enum { INLINED_MAX = 64, PROGRESS_EVERY = 256 };

#define ENTRIES_MAX (1ull << 29)

/* How much is known of frames. */
struct knowledge {
	uint64_t names;
	uint64_t lines;
};

struct module {
	struct seep_symbol_module *symbols; /* NULL: not asked yet */
	struct knowledge before;	    /* of frames that had names */
	uint64_t shift;			    /* of addresses that were places in the file */
	bool is_renewed;		    /* its old names are replaced */
};

/* A frame to look up, and where the answer is. */
struct wanted {
	uint64_t address;
	uint32_t module;
	uint32_t frame;
	size_t first; /* of its names */
	size_t count; /* 1 at least */
};

struct symboliser {
	struct seep_profile *profile;
	struct seep_symbols *symbols;
	struct seep_progress *progress; /* NULL: nobody waits */
	struct module *modules;		/* by frame.module; 0 = none */
	bool any_renewed;
	struct wanted *wanted;
	size_t wanted_count;
	struct seep_symbol_frame *names; /* of one module's frames */
	size_t name_capacity;
	size_t name_count;
	struct seep_profile_stack_entry *expanded; /* one stack */
	size_t expanded_capacity;
};

/* Of the call, where the frame is a return. */
static uint64_t address_of(const struct seep_profile_frame *frame)
{
	return frame->exact ? frame->address : frame->address - 1;
}

static int by_place(const void *a, const void *b)
{
	const struct wanted *left = a, *right = b;

	return seep_search_order(left->module, right->module)
		       ?: seep_search_order(left->address, right->address);
}

/* Frames without a name so far, and with @missing those of modules that had a problem. */
static void collect(struct symboliser *s, bool missing)
{
	const struct seep_profile *profile = s->profile;

	s->wanted = seep_xcalloc(profile->frame_count, sizeof(*s->wanted));
	for (uint32_t i = 0; i < profile->frame_count; i++) {
		const struct seep_profile_frame *frame = &profile->frames[i];
		const uint32_t module = frame->module <= profile->module_count ? frame->module : 0;
		const bool had_names = i < profile->named_count || frame->function;

		if (had_names) {
			s->modules[module].before.names += frame->function != NULL;
			s->modules[module].before.lines += frame->file != NULL;
		}
		if (module && !frame->inlined &&
		    (!had_names || (missing && profile->modules[module - 1].problem)))
			s->wanted[s->wanted_count++] = (struct wanted){
				.address = address_of(frame),
				.module = module,
				.frame = i,
			};
	}
	qsort(s->wanted, s->wanted_count, sizeof(*s->wanted), by_place);
}

static struct seep_symbol_module *module_of(struct symboliser *s, uint32_t module)
{
	const struct seep_profile_module *from = &s->profile->modules[module - 1];
	struct module *to = &s->modules[module];

	if (!to->symbols)
		to->symbols = seep_symbols_module(s->symbols, from->path, from->build_id,
						  from->build_id_bytes);
	return to->symbols;
}

/* The file alone knows where its linker put the code. */
static void place_modules(struct symboliser *s)
{
	struct seep_profile *profile = s->profile;

	for (uint32_t i = 0; i < profile->module_count; i++) {
		struct seep_profile_module *module = &profile->modules[i];
		uint64_t *shift = &s->modules[i + 1].shift;

		if (!module->by_place)
			continue;
		*shift = seep_symbol_module_shift(module_of(s, i + 1),
						  module->start - module->bias);
		module->bias -= *shift;
		module->by_place = false;
	}
	for (uint32_t i = 0; i < profile->frame_count; i++)
		if (profile->frames[i].module <= profile->module_count)
			profile->frames[i].address += s->modules[profile->frames[i].module].shift;
}

static void look_up(struct symboliser *s, struct wanted *wanted)
{
	s->names = seep_xgrow(s->names, &s->name_capacity, s->name_count + INLINED_MAX,
			      sizeof(*s->names));
	wanted->first = s->name_count;
	wanted->count = seep_symbol_lookup(module_of(s, wanted->module), wanted->address,
					   &s->names[s->name_count], INLINED_MAX);
	s->name_count += wanted->count;
}

static void set_name(struct seep_profile *profile, struct seep_profile_frame *frame,
		     const struct seep_symbol_frame *name)
{
	frame->function = seep_profile_strdup(profile, name->function);
	frame->file = seep_profile_strdup(profile, name->file);
	frame->line = name->line;
}

/* The outermost name is the frame's own. */
static void give_names(struct symboliser *s, const struct wanted *wanted)
{
	struct seep_profile *profile = s->profile;
	const struct seep_symbol_frame *names = &s->names[wanted->first];
	struct seep_profile_frame *frame = &profile->frames[wanted->frame];

	set_name(profile, frame, &names[wanted->count - 1]);
	profile->inlined[wanted->frame].first = profile->frame_count;
	profile->inlined[wanted->frame].count = (uint32_t)wanted->count - 1;
	for (size_t i = 0; i + 1 < wanted->count; i++) {
		struct seep_profile_frame *inlined = seep_profile_add(profile, SEEP_ARRAY_FRAMES);

		*inlined = profile->frames[wanted->frame];
		inlined->inlined = true;
		set_name(profile, inlined, &names[i]);
	}
}

/* What was inlined counts as well: a file that was missing may have held nothing but that. */
static bool is_more(const struct symboliser *s, const struct knowledge *before)
{
	struct knowledge now = { 0 };

	for (size_t i = 0; i < s->name_count; i++) {
		now.names += s->names[i].function != NULL;
		now.lines += s->names[i].file != NULL;
	}
	return now.names >= before->names && now.lines >= before->lines &&
	       now.names + now.lines > before->names + before->lines;
}

/* All frames of one module. Names that it had are kept unless more are found. */
static void look_up_module(struct symboliser *s, struct wanted *wanted, size_t count, bool missing)
{
	const uint32_t module = wanted->module;
	struct seep_profile_module *to = &s->profile->modules[module - 1];
	struct module *state = &s->modules[module];
	const bool again = missing && to->problem;

	s->name_count = 0;
	for (size_t i = 0; i < count; i++) {
		if (s->progress && i % PROGRESS_EVERY == 0)
			seep_progress_step(s->progress, (uint64_t)(&wanted[i] - s->wanted));
		look_up(s, &wanted[i]);
	}
	if (again && !is_more(s, &state->before))
		return;
	state->is_renewed = again;
	s->any_renewed |= again;
	for (size_t i = 0; i < count; i++)
		give_names(s, &wanted[i]);
	to->problem = seep_profile_strdup(s->profile, seep_symbol_module_problem(state->symbols));
}

/* Frames that are new themselves have nothing inlined. */
static void extend_inlined(struct seep_profile *profile, uint32_t old_count)
{
	profile->inlined = seep_xrealloc(profile->inlined, (size_t)profile->frame_count + 1,
					 sizeof(*profile->inlined));
	memset(&profile->inlined[old_count], 0,
	       (profile->frame_count - old_count) * sizeof(*profile->inlined));
}

static void look_up_all(struct symboliser *s, bool missing)
{
	struct seep_profile *profile = s->profile;
	uint32_t had = profile->inlined ? profile->named_count : 0;
	size_t next;

	extend_inlined(profile, had);
	had = profile->frame_count;
	for (size_t i = 0; i < s->wanted_count; i = next) {
		for (next = i + 1;
		     next < s->wanted_count && s->wanted[next].module == s->wanted[i].module;)
			next++;
		look_up_module(s, &s->wanted[i], next - i, missing);
	}
	extend_inlined(profile, had);
	profile->named_count = profile->frame_count;
}

/* Returns how many entries at @to stand for @entry now. */
static uint32_t expand_entry(const struct symboliser *s, const struct seep_profile_context *context,
			     const struct seep_profile_stack_entry *entry,
			     struct seep_profile_stack_entry *to)
{
	const struct seep_profile_frame *frame = &s->profile->frames[entry->frame];
	const struct seep_profile_inlined *inlined = &s->profile->inlined[entry->frame];
	const bool renewed = frame->module <= s->profile->module_count &&
			     s->modules[frame->module].is_renewed;
	uint32_t count = 0;

	if (frame->inlined && renewed)
		return 0;
	if (!frame->inlined && (renewed || !context->expanded))
		count = inlined->count;
	for (uint32_t i = 0; i < count; i++)
		to[i] = (struct seep_profile_stack_entry){ .frame = inlined->first + i };
	to[count] = *entry;
	return count + 1;
}

/* Into @s->expanded. Returns how many entries that are. */
static uint32_t expand_stack(struct symboliser *s, const struct seep_profile_context *context)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < context->stack_count; i++) {
		s->expanded = seep_xgrow(s->expanded, &s->expanded_capacity,
					 (size_t)count + INLINED_MAX, sizeof(*s->expanded));
		count += expand_entry(s, context, &context->stack[i], &s->expanded[count]);
	}
	return count;
}

static int expand_stacks(struct symboliser *s, struct seep_error *err)
{
	uint64_t entries = 0;

	for (uint32_t i = 0; i < s->profile->context_count; i++) {
		struct seep_profile_context *context = &s->profile->contexts[i];
		const bool is_done = context->expanded && !s->any_renewed;
		const uint32_t count = is_done ? context->stack_count : expand_stack(s, context);

		entries += count;
		if (entries > ENTRIES_MAX)
			return seep_fail(err, SEEP_ELIMIT,
					 "the stacks have more than %llu frames together",
					 ENTRIES_MAX);
		if (is_done)
			continue;
		if (count != context->stack_count)
			context->stack = seep_profile_calloc(s->profile, count,
							     sizeof(*context->stack));
		if (count)
			memcpy(context->stack, s->expanded, count * sizeof(*s->expanded));
		context->stack_count = count;
		context->expanded = true;
		context->hash = 0;
	}
	return 0;
}

int seep_profile_symbolise(struct seep_profile *profile, struct seep_symbols *symbols, bool missing,
			   struct seep_progress *progress, struct seep_error *err)
{
	struct symboliser s = {
		.profile = profile,
		.symbols = symbols,
		.progress = progress,
		.modules = seep_xcalloc((size_t)profile->module_count + 1, sizeof(*s.modules)),
	};
	int r;

	seep_symbols_begin(symbols);
	place_modules(&s);
	collect(&s, missing);
	if (progress)
		progress->total = s.wanted_count;
	look_up_all(&s, missing);
	r = expand_stacks(&s, err);
	if (seep_symbols_trouble(symbols))
		seep_profile_add_unseen(profile, "debuginfod", "names: %s",
					seep_symbols_trouble(symbols));
	seep_symbols_end(symbols);
	profile->symbolised = true;
	free(s.expanded);
	free(s.names);
	free(s.wanted);
	free(s.modules);
	return r;
}

static int by_address(const void *a, const void *b)
{
	return seep_search_order(address_of(*(struct seep_profile_frame *const *)a),
				 address_of(*(struct seep_profile_frame *const *)b));
}

static size_t collect_unnamed(struct seep_profile *profile, struct seep_profile_frame **unnamed)
{
	size_t count = 0;

	for (uint32_t i = 0; i < profile->frame_count; i++) {
		struct seep_profile_frame *frame = &profile->frames[i];

		if (frame->module == 0 && !frame->function && frame->address > 0)
			unnamed[count++] = frame;
	}
	qsort(unnamed, count, sizeof(*unnamed), by_address);
	return count;
}

static void name_unnamed(struct seep_profile *profile, struct seep_profile_frame **unnamed,
			 size_t count, char *const *names)
{
	struct seep_profile_module *module = NULL;

	for (size_t i = 0; i < count; i++) {
		if (!names[i])
			continue;
		if (!module) {
			module = seep_profile_add(profile, SEEP_ARRAY_MODULES);
			module->path = seep_profile_strdup(profile, SEEP_GENERATED_MODULE);
		}
		unnamed[i]->module = profile->module_count;
		unnamed[i]->function = seep_profile_strdup(profile, names[i]);
	}
	for (uint32_t i = 0; i < profile->context_count && module; i++)
		profile->contexts[i].hash = 0;
}

int seep_profile_name_generated(struct seep_profile *profile, int fd, struct seep_error *err)
{
	const size_t room = profile->frame_count;
	SEEP_FREED struct seep_profile_frame **unnamed = seep_xcalloc(room, sizeof(*unnamed));
	SEEP_FREED uint64_t *addresses = seep_xcalloc(room, sizeof(*addresses));
	SEEP_FREED char **names = seep_xcalloc(room, sizeof(char *));
	size_t count = collect_unnamed(profile, unnamed);
	int rc = 0;

	for (size_t i = 0; i < count; i++)
		addresses[i] = address_of(unnamed[i]);
	seep_work_begin();
	if (count > 0)
		rc = seep_perf_map_read(fd, addresses, count, names, err);
	if (seep_work_problem())
		seep_profile_add_unseen(profile, "names", "names of generated code: %s",
					seep_work_problem());
	seep_work_end();
	name_unnamed(profile, unnamed, count, names);
	for (size_t i = 0; i < count; i++)
		free(names[i]);
	return rc;
}
