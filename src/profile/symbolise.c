/* SPDX-License-Identifier: MIT */
/*
 * Each distinct address is looked up once, in order of module and address, so that the symbol
 * index and the file's pages are walked in one direction. Then stacks are rewritten in one pass.
 *
 * A profile whose names were looked up before is the same case: of each address only the frame that
 * is really on the stack is looked up, the ones inlined into it are taken out of the stacks.
 */
#include "profile/symbolise.h"

#include "base/xalloc.h"
#include "profile/context_hash.h"
#include "profile/profile.h"
#include "symbol/symbol.h"

#include <stdlib.h>
#include <string.h>

enum { INLINED_MAX = 64, PROGRESS_EVERY = 256 };

#define ENTRIES_MAX (1ull << 29)

/* Where the names of one old frame are among the new ones. */
struct expansion {
	uint32_t first;
	uint32_t count;
};

/* Strings that were met already, by the pointer that seep_symbol_lookup() gave. */
struct known_string {
	const char *from;
	const char *copy;
};

struct symboliser {
	struct seep_profile *profile;
	struct seep_symbol_module **modules; /* by module index; NULL = not asked yet */
	struct seep_symbols *symbols;
	struct expansion *expansions; /* by old frame index */
	bool *skipped; /* by module index; NULL = none: its frames stay as they are */
	struct seep_profile_frame *frames;
	size_t capacity;
	uint32_t count;
	struct known_string *strings;
	uint64_t string_mask;
	uint64_t string_count;
};

static uint64_t hash_pointer(const char *pointer)
{
	uint64_t mixed = (uint64_t)(uintptr_t)pointer * 0x9e3779b97f4a7c15ull;

	return mixed ^ mixed >> 32;
}

static void grow_strings(struct symboliser *s)
{
	uint64_t mask = s->string_mask ? s->string_mask * 2 + 1 : 1023;
	struct known_string *bigger = seep_xcalloc(mask + 1, sizeof(*bigger));

	for (uint64_t i = 0; s->strings && i <= s->string_mask; i++) {
		uint64_t at = hash_pointer(s->strings[i].from) & mask;

		if (!s->strings[i].from)
			continue;
		while (bigger[at].from)
			at = (at + 1) & mask;
		bigger[at] = s->strings[i];
	}
	free(s->strings);
	s->strings = bigger;
	s->string_mask = mask;
}

static const char *copy_string(struct symboliser *s, const char *text)
{
	uint64_t at;

	if (!text)
		return NULL;
	if (s->string_count >= s->string_mask / 2)
		grow_strings(s);
	at = hash_pointer(text) & s->string_mask;
	while (s->strings[at].from) {
		if (s->strings[at].from == text)
			return s->strings[at].copy;
		at = (at + 1) & s->string_mask;
	}
	s->strings[at].from = text;
	s->strings[at].copy = seep_profile_strdup(s->profile, text);
	s->string_count++;
	return s->strings[at].copy;
}

static void append(struct symboliser *s, const struct seep_profile_frame *old,
		   const struct seep_symbol_frame *name, bool inlined)
{
	struct seep_profile_frame *frame;

	s->frames = seep_xgrow(s->frames, &s->capacity, (size_t)s->count + 1, sizeof(*s->frames));
	frame = &s->frames[s->count++];
	*frame = *old;
	frame->inlined = inlined;
	if (name) {
		frame->function = copy_string(s, name->function);
		frame->file = copy_string(s, name->file);
		frame->line = name->line;
	}
}

static struct seep_symbol_module *module_of(struct symboliser *s, uint32_t module)
{
	const struct seep_profile_module *from = &s->profile->modules[module - 1];

	if (!s->modules[module - 1])
		s->modules[module - 1] = seep_symbols_module(
			s->symbols, from->path, from->build_id_bytes ? from->build_id : NULL,
			from->build_id_bytes);
	return s->modules[module - 1];
}

static void look_up(struct symboliser *s, uint32_t index)
{
	struct seep_profile_frame plain = s->profile->frames[index];
	const struct seep_profile_frame *old = &plain;
	struct seep_symbol_frame names[INLINED_MAX];
	size_t count = 0;

	plain.function = plain.file = NULL;
	plain.line = 0;
	s->expansions[index].first = s->count;
	if (old->module > 0 && old->module <= s->profile->module_count)
		count = seep_symbol_lookup(module_of(s, old->module),
					   old->exact ? old->address : old->address - 1, names,
					   INLINED_MAX);
	if (count == 0)
		append(s, old, NULL, false);
	for (size_t i = 0; i < count; i++)
		append(s, old, &names[i], i + 1 < count);
	s->expansions[index].count = s->count - s->expansions[index].first;
}

/* The frame and its names stay as they are. */
static void keep(struct symboliser *s, uint32_t index)
{
	s->expansions[index] = (struct expansion){ .first = s->count, .count = 1 };
	append(s, &s->profile->frames[index], NULL, s->profile->frames[index].inlined);
}

struct sort_key {
	uint64_t address;
	uint32_t module;
	uint32_t index;
};

static int by_place(const void *a, const void *b)
{
	const struct sort_key *left = a;
	const struct sort_key *right = b;

	if (left->module != right->module)
		return left->module < right->module ? -1 : 1;
	return (left->address > right->address) - (left->address < right->address);
}

static struct sort_key *sort_frames(const struct seep_profile *profile)
{
	uint32_t count = profile->frame_count;
	struct sort_key *keys = seep_xcalloc((size_t)count + 1, sizeof(*keys));

	for (uint32_t i = 0; i < count; i++) {
		keys[i].address = profile->frames[i].address;
		keys[i].module = profile->frames[i].module;
		keys[i].index = i;
	}
	qsort(keys, count, sizeof(*keys), by_place);
	return keys;
}

/* How much is known of frames. */
struct knowledge {
	uint64_t names;
	uint64_t lines;
};

static void know(struct knowledge *known, const struct seep_profile_frame *frame)
{
	known->names += frame->function != NULL;
	known->lines += frame->file != NULL;
}

static bool is_more(const struct knowledge *now, const struct knowledge *before)
{
	return now->names >= before->names && now->lines >= before->lines &&
	       now->names + now->lines > before->names + before->lines;
}

static void keep_all(struct symboliser *s, const struct sort_key *keys, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		keep(s, keys[i].index);
}

/*
 * All frames of one module that was looked up before. What was inlined at an address belongs to
 * the one frame there that was not; its names count as well, for a file that was missing may have
 * held nothing but them.
 */
static void look_up_again(struct symboliser *s, const struct sort_key *keys, uint32_t count)
{
	const struct seep_profile_frame *frames = s->profile->frames;
	struct knowledge before = { 0 }, now = { 0 };
	uint32_t first = s->count;

	for (uint32_t i = 0; i < count; i++) {
		uint32_t index = keys[i].index;

		know(&before, &frames[index]);
		if (frames[index].inlined)
			s->expansions[index] = (struct expansion){ .first = s->count };
		else
			look_up(s, index);
	}
	for (uint32_t i = first; i < s->count; i++)
		know(&now, &s->frames[i]);
	if (is_more(&now, &before))
		return;
	s->count = first;
	s->skipped[keys[0].module - 1] = true;
	keep_all(s, keys, count);
}

static bool had_problem(const struct symboliser *s, uint32_t module)
{
	return module > 0 && module <= s->profile->module_count &&
	       s->profile->modules[module - 1].problem;
}

/* Frames of a profile that is symbolised, module by module. */
static void look_up_missing(struct symboliser *s,
			    void (*progress)(void *user, uint64_t done, uint64_t all), void *user)
{
	uint32_t count = s->profile->frame_count;
	struct sort_key *keys = sort_frames(s->profile);
	uint32_t next;

	for (uint32_t i = 0; i < count; i = next) {
		for (next = i + 1; next < count && keys[next].module == keys[i].module;)
			next++;
		if (progress)
			progress(user, i, count);
		if (had_problem(s, keys[i].module))
			look_up_again(s, &keys[i], next - i);
		else
			keep_all(s, &keys[i], next - i);
	}
	free(keys);
}

static void look_up_all(struct symboliser *s,
			void (*progress)(void *user, uint64_t done, uint64_t all), void *user)
{
	uint32_t count = s->profile->frame_count;
	struct sort_key *keys = sort_frames(s->profile);

	for (uint32_t i = 0; i < count; i++) {
		if (progress && i % PROGRESS_EVERY == 0)
			progress(user, i, count);
		look_up(s, keys[i].index);
	}
	free(keys);
}

static uint32_t expanded_count(const struct symboliser *s,
			       const struct seep_profile_context *context)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < context->stack_count; i++)
		count += s->expansions[context->stack[i].frame].count;
	return count;
}

static uint64_t all_entries(const struct symboliser *s)
{
	uint64_t count = 0;

	for (uint32_t i = 0; i < s->profile->context_count; i++)
		count += expanded_count(s, &s->profile->contexts[i]);
	return count;
}

static void expand_stack(struct symboliser *s, struct seep_profile_context *context)
{
	uint32_t count = expanded_count(s, context);
	struct seep_profile_stack_entry *stack = context->stack;
	uint32_t at = 0;

	if (count != context->stack_count || s->skipped)
		stack = seep_profile_calloc(s->profile, count, sizeof(*stack));
	for (uint32_t i = 0; i < context->stack_count; i++) {
		struct seep_profile_stack_entry old = context->stack[i];
		struct expansion names = s->expansions[old.frame];

		for (uint32_t n = 0; n < names.count; n++) {
			stack[at].frame = names.first + n;
			stack[at].period = n + 1 == names.count ? old.period : 0;
			stack[at].repeats = n + 1 == names.count ? old.repeats : 0;
			at++;
		}
	}
	context->stack = stack;
	context->stack_count = count;
}

static void note_problems(struct symboliser *s)
{
	for (uint32_t i = 0; i < s->profile->module_count; i++) {
		const char *problem;

		if (!s->modules[i] || (s->skipped && s->skipped[i]))
			continue;
		problem = seep_symbol_module_problem(s->modules[i]);
		s->profile->modules[i].problem = seep_profile_strdup(s->profile, problem);
	}
}

static void adopt(struct symboliser *s)
{
	struct seep_profile *profile = s->profile;

	for (uint32_t i = 0; i < profile->context_count; i++)
		expand_stack(s, &profile->contexts[i]);
	profile->frames = seep_profile_calloc(profile, s->count, sizeof(*profile->frames));
	if (s->count)
		memcpy(profile->frames, s->frames, s->count * sizeof(*profile->frames));
	profile->frame_count = s->count;
	note_problems(s);
	if (seep_symbols_trouble(s->symbols))
		seep_profile_add_unseen(profile, "debuginfod", "names: %s",
					seep_symbols_trouble(s->symbols));
	profile->symbolised = true;
	seep_profile_hash_contexts(profile);
}

static int symbolise(struct symboliser *s,
		     void (*progress)(void *user, uint64_t done, uint64_t all), void *user,
		     struct seep_error *err)
{
	size_t modules = (size_t)s->profile->module_count + 1;
	int r = 0;

	s->modules = seep_xcalloc(modules, sizeof(struct seep_symbol_module *));
	s->expansions = seep_xcalloc((size_t)s->profile->frame_count + 1, sizeof(*s->expansions));
	if (s->profile->symbolised) {
		s->skipped = seep_xcalloc(modules, sizeof(*s->skipped));
		look_up_missing(s, progress, user);
	} else {
		look_up_all(s, progress, user);
	}
	if (all_entries(s) > ENTRIES_MAX)
		r = seep_fail(err, SEEP_ELIMIT, "the stacks have more than %llu frames together",
			      ENTRIES_MAX);
	else
		adopt(s);
	free(s->strings);
	free(s->frames);
	free(s->expansions);
	free(s->modules);
	free(s->skipped);
	return r;
}

int seep_profile_symbolise(struct seep_profile *profile, struct seep_symbols *symbols,
			   void (*progress)(void *user, uint64_t done, uint64_t all), void *user,
			   struct seep_error *err)
{
	struct symboliser s = { .profile = profile, .symbols = symbols };

	return profile->symbolised ? 0 : symbolise(&s, progress, user, err);
}

int seep_profile_symbolise_missing(struct seep_profile *profile, struct seep_symbols *symbols,
				   void (*progress)(void *user, uint64_t done, uint64_t all),
				   void *user, struct seep_error *err)
{
	struct symboliser s = { .profile = profile, .symbols = symbols };

	return symbolise(&s, progress, user, err);
}
