/* SPDX-License-Identifier: MIT */
/* Numbers frames by what they are called. */
#include "analysis/sites.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/function_name.h"
#include "analysis/wrappers.h"
#include "base/path.h"
#include "base/idtable.h"
#include "base/xalloc.h"

/* An unnamed frame is its address: a function of its own. So is one whose name many have. */
static bool is_address(const struct seep_profile_frame *frame)
{
	return frame->function == NULL ||
	       (frame->file == NULL && seep_function_is_shim(frame->function));
}

static uint64_t hash_function(const struct seep_profile_frame *frame)
{
	uint64_t hash = seep_hash_mix(0, frame->module);

	if (is_address(frame))
		return seep_hash_mix(hash, frame->address);
	return seep_hash_text(seep_hash_text(hash, frame->function), frame->file);
}

static bool same_function(const struct seep_profile_frame *a, const struct seep_profile_frame *b)
{
	if (a->module != b->module)
		return false;
	if (is_address(a) || is_address(b))
		return seep_text_equal(a->function, b->function) && a->address == b->address;
	return seep_text_equal(a->function, b->function) && seep_text_equal(a->file, b->file);
}

static const char *const system_libraries[] = {
	"libc.so.6", "libc-2.", "libpthread", "libdl.so.2", "libdl-2.", "ld-linux", "ld-2.", NULL,
};
static const char *const language_libraries[] = {
	"libstdc++.so.", "libc++.so.", "libc++abi.so.", "libgcc_s.so.", NULL,
};
/* Sources of templates and inlined functions that become part of the program. */
static const char *const library_sources[] = { "/usr/include/c++/", "/rustc/", NULL };
static const char *const installed_places[] = { "/usr/", "/lib", NULL };

static void classify(struct seep_site *site, const struct seep_profile *profile,
		     const struct seep_profile_frame *frame)
{
	const char *path = seep_profile_frame_path(profile, frame);
	const char *file = frame->file != NULL ? frame->file : "";
	const bool installed = path == NULL || seep_begins_among(path, installed_places);

	if (path != NULL) {
		site->system = seep_begins_among(seep_path_base(path), system_libraries);
		site->library = site->system ||
				seep_begins_among(seep_path_base(path), language_libraries);
	}
	if (frame->function != NULL) {
		site->invoker = !site->library && frame->file == NULL &&
				seep_function_is_invoker(frame->function);
		site->shim = seep_function_is_shim(frame->function);
		site->library |= seep_function_is_library(frame->function);
		site->startup = seep_function_is_startup(frame->function);
		site->allocator = seep_function_is_allocator(frame->function);
		site->installed = seep_function_is_compiled_in(frame->function);
	}
	site->library |= seep_begins_among(file, library_sources) ||
			 strstr(file, "/rustlib/src/rust/library/") != NULL;
	site->installed |= (path != NULL && installed) ||
			   seep_begins_among(file, installed_places) ||
			   strstr(file, "/.cargo/registry/") != NULL;
	site->plumbing = (site->library && !site->invoker) || site->allocator;
	site->own = !installed && !site->plumbing && (!site->installed || site->invoker);
}

static void add_function(struct seep_sites *sites, struct seep_idtable *table, uint32_t frame)
{
	const struct seep_profile_frame *frames = sites->profile->frames;
	const uint64_t hash = hash_function(&frames[frame]);
	struct seep_site *site = &sites->of_frame[frame];
	size_t at = SEEP_IDTABLE_START;
	uint32_t id;

	while ((id = seep_idtable_find(table, hash, &at)) != SEEP_IDTABLE_NONE) {
		const uint32_t known = sites->frame_of_function[id];

		if (same_function(&frames[known], &frames[frame])) {
			*site = sites->of_frame[known];
			return;
		}
	}
	site->function = sites->function_count++;
	sites->frame_of_function[site->function] = frame;
	classify(site, sites->profile, &frames[frame]);
	seep_idtable_add(table, hash, site->function);
}

/* Lines within a function; without a line number (but with a name) the function is the line. */
static void add_line(struct seep_sites *sites, struct seep_idtable *table, uint32_t frame)
{
	struct seep_site *site = &sites->of_frame[frame];
	const uint32_t number = sites->profile->frames[frame].line;
	uint64_t key = ((uint64_t)site->function << 32 | number) * 0x9e3779b97f4a7c15u;
	size_t at = SEEP_IDTABLE_START;

	/* Neither step makes two numbers one: what has the same key is the same. */
	key ^= key >> 32;
	site->line = seep_idtable_find(table, key, &at);
	if (site->line != SEEP_IDTABLE_NONE)
		return;
	site->line = sites->line_count++;
	seep_idtable_add(table, key, site->line);
}

static void mark_loops(struct seep_sites *sites)
{
	const struct seep_profile *profile = sites->profile;

	for (uint32_t i = 0; i < profile->context_count; i++) {
		const struct seep_profile_context *context = &profile->contexts[i];
		bool inside = false, between = false;

		for (uint32_t k = 0; k < context->stack_count; k++) {
			struct seep_site *site = &sites->of_frame[context->stack[k].frame];

			site->loops |= site->own && between;
			between = !site->own && inside;
			inside |= site->own;
		}
	}
}

struct seep_sites *seep_sites_new(const struct seep_profile *profile)
{
	const uint32_t frame_count = profile->frame_count;
	struct seep_sites *sites = seep_xcalloc(1, sizeof(*sites));
	SEEP_RELEASED(seep_idtable_done) struct seep_idtable functions;
	SEEP_RELEASED(seep_idtable_done) struct seep_idtable lines;

	sites->profile = profile;
	sites->of_frame = seep_xcalloc(frame_count, sizeof(*sites->of_frame));
	sites->frame_of_function = seep_xcalloc(frame_count, sizeof(*sites->frame_of_function));
	seep_idtable_init(&functions, frame_count);
	seep_idtable_init(&lines, frame_count);
	for (uint32_t i = 0; i < frame_count; i++) {
		add_function(sites, &functions, i);
		add_line(sites, &lines, i);
	}
	seep_wrappers_mark(sites);
	mark_loops(sites);
	return sites;
}

void seep_sites_free(struct seep_sites *sites)
{
	if (sites == NULL)
		return;
	free(sites->of_frame);
	free(sites->frame_of_function);
	free(sites);
}

/* Deeper inside an allocator than this nothing is looked for. */
enum { ALLOCATOR_FRAMES = 3 };

uint32_t seep_sites_plumbing(const struct seep_sites *sites,
			     const struct seep_profile_stack_entry *stack, uint32_t count)
{
	uint32_t inside = 0;

	for (uint32_t i = 0; i < count && i < inside + ALLOCATOR_FRAMES; i++) {
		const struct seep_site *site = &sites->of_frame[stack[i].frame];

		if (site->allocator || (site->plumbing && inside == i))
			inside = i + 1;
	}
	return inside;
}

static bool is_named(const struct seep_sites *sites, const struct seep_profile_stack_entry *entry)
{
	return sites->profile->frames[entry->frame].function != NULL;
}

/* Without the C library's own symbols most of what starts a program or a thread has no name. */
static uint32_t without_startup(const struct seep_sites *sites,
				const struct seep_profile_stack_entry *stack, uint32_t count)
{
	const struct seep_site *of_frame = sites->of_frame;
	uint32_t end = count;

	/* _start of a program without symbols. */
	if (end > 1 && !is_named(sites, &stack[end - 1]) && of_frame[stack[end - 2].frame].startup)
		end--;
	while (end > 1 &&
	       (of_frame[stack[end - 1].frame].startup ||
		(of_frame[stack[end - 1].frame].system && !is_named(sites, &stack[end - 1]))))
		end--;
	return end;
}

/* What a language's library does before main or a thread's function: Rust's, of C++'s threads. */
static uint32_t without_runtime(const struct seep_sites *sites,
				const struct seep_profile_stack_entry *stack, uint32_t count)
{
	const struct seep_site *of_frame = sites->of_frame;
	const struct seep_profile_frame *frames = sites->profile->frames;
	const uint32_t first = seep_sites_plumbing(sites, stack, count);
	uint32_t end = count;

	/* Rust's main() is the compiler's. */
	if (end > 1 && is_named(sites, &stack[end - 1]) && of_frame[stack[end - 2].frame].library &&
	    strcmp(frames[stack[end - 1].frame].function, "main") == 0 &&
	    is_named(sites, &stack[end - 2]) &&
	    strncmp(frames[stack[end - 2].frame].function, "std::rt::", 9) == 0)
		end--;
	/* A thread's function may have been inlined into what the library calls it by. */
	while (end > first + 1 && of_frame[stack[end - 1].frame].library)
		end--;
	return first < end ? end : count;
}

static uint32_t innermost_shim(const struct seep_sites *sites,
			       const struct seep_profile_stack_entry *stack, uint32_t end)
{
	for (uint32_t i = 0; i < end; i++)
		if (sites->of_frame[stack[i].frame].shim)
			return i;
	return 0;
}

/* A library that does more than this for a call does it for itself: an interpreter, a browser. */
enum { FAR = 16 };

struct seep_stack_part seep_sites_trim(const struct seep_sites *sites,
				       const struct seep_profile_stack_entry *stack, uint32_t count)
{
	struct seep_stack_part part = { .end = without_startup(sites, stack, count) };
	uint32_t first, last;
	bool own = false, library = false;

	if (part.end < count)
		part.end = without_runtime(sites, stack, part.end);
	first = seep_sites_plumbing(sites, stack, part.end);
	part.first = first < part.end ? first : innermost_shim(sites, stack, part.end);
	for (last = part.end; first < last; first++) {
		const struct seep_site *site = &sites->of_frame[stack[first].frame];
		const bool named = !site->plumbing && is_named(sites, &stack[first]);

		if (site->own && !site->plumbing && (named || library)) {
			if (named && !(library && site->loops))
				part.first = first;
			return part;
		}
		if (named && own)
			return part;
		if (named && !library) {
			part.first = first;
			last = last - first > FAR ? first + FAR : last;
		}
		library |= named;
		own |= site->own;
	}
	return part;
}

bool seep_sites_passes(const struct seep_sites *sites, const struct seep_profile_stack_entry *stack,
		       struct seep_stack_part part, uint32_t at)
{
	const struct seep_site *blamed = &sites->of_frame[stack[part.first].frame];

	return at > part.first && at < part.end && (!blamed->plumbing || blamed->shim) &&
	       (sites->of_frame[stack[at].frame].library ||
		(blamed->own && sites->of_frame[stack[at].frame].installed));
}

const struct seep_profile_frame *seep_sites_blamed(const struct seep_sites *sites,
						   const struct seep_profile_context *context)
{
	struct seep_stack_part part;

	if (context->stack_count == 0)
		return NULL;
	part = seep_sites_trim(sites, context->stack, context->stack_count);
	return &sites->profile->frames[context->stack[part.first].frame];
}
