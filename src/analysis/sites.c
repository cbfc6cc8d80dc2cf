/* SPDX-License-Identifier: MIT */
/* Numbers frames by what they are called. */
#include "analysis/sites.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/function_name.h"
#include "base/idtable.h"
#include "base/xalloc.h"

static bool text_equal(const char *a, const char *b)
{
	return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

/* An unnamed frame is its address: a function of its own. */
static uint64_t hash_function(const struct seep_profile_frame *frame)
{
	uint64_t hash = seep_hash_mix(0, frame->module);

	if (frame->function == NULL)
		return seep_hash_mix(hash, frame->address);
	return seep_hash_text(seep_hash_text(hash, frame->function), frame->file);
}

static bool same_function(const struct seep_profile_frame *a, const struct seep_profile_frame *b)
{
	if (a->module != b->module)
		return false;
	if (a->function == NULL || b->function == NULL)
		return a->function == b->function && a->address == b->address;
	return text_equal(a->function, b->function) && text_equal(a->file, b->file);
}

/* Code of libc and libstdc++ is never what anyone looks for, named or not. */
static bool is_library_code(const struct seep_profile *profile,
			    const struct seep_profile_frame *frame)
{
	static const char *const libraries[] = {
		"libc.so.6",	 "libc-2.",	 "libstdc++.so.", "libc++.so.",
		"libc++abi.so.", "libgcc_s.so.", "libpthread",	  "libdl.so.2",
		"libdl-2.",	 "ld-linux",	 "ld-2.",
	};
	const char *path = NULL;
	const char *slash;

	if (frame->module > 0 && frame->module <= profile->module_count)
		path = profile->modules[frame->module - 1].path;
	if (path == NULL)
		return false;
	slash = strrchr(path, '/');
	path = slash != NULL ? slash + 1 : path;
	for (size_t i = 0; i < sizeof(libraries) / sizeof(libraries[0]); i++)
		if (strncmp(path, libraries[i], strlen(libraries[i])) == 0)
			return true;
	return false;
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
			site->function = id;
			site->plumbing = sites->of_frame[known].plumbing;
			site->startup = sites->of_frame[known].startup;
			return;
		}
	}
	site->function = sites->function_count++;
	sites->frame_of_function[site->function] = frame;
	site->plumbing = is_library_code(sites->profile, &frames[frame]);
	if (frames[frame].function != NULL) {
		site->plumbing |= seep_function_is_plumbing(frames[frame].function);
		site->startup = seep_function_is_startup(frames[frame].function);
	}
	seep_idtable_add(table, hash, site->function);
}

/* Lines within a function; without a line number (but with a name) the function is the line. */
static void add_line(struct seep_sites *sites, struct seep_idtable *table, uint32_t *frame_of_line,
		     uint32_t frame)
{
	const struct seep_profile_frame *frames = sites->profile->frames;
	struct seep_site *site = &sites->of_frame[frame];
	const uint64_t hash = seep_hash_mix(seep_hash_mix(0, site->function), frames[frame].line);
	size_t at = SEEP_IDTABLE_START;
	uint32_t id;

	while ((id = seep_idtable_find(table, hash, &at)) != SEEP_IDTABLE_NONE) {
		const uint32_t known = frame_of_line[id];

		if (sites->of_frame[known].function == site->function &&
		    frames[known].line == frames[frame].line) {
			site->line = id;
			return;
		}
	}
	site->line = sites->line_count++;
	frame_of_line[site->line] = frame;
	seep_idtable_add(table, hash, site->line);
}

struct seep_sites *seep_sites_new(const struct seep_profile *profile)
{
	const uint32_t frame_count = profile->frame_count;
	struct seep_sites *sites = seep_xcalloc(1, sizeof(*sites));
	uint32_t *frame_of_line = seep_xcalloc(frame_count, sizeof(*frame_of_line));
	struct seep_idtable functions;
	struct seep_idtable lines;

	sites->profile = profile;
	sites->of_frame = seep_xcalloc(frame_count, sizeof(*sites->of_frame));
	sites->frame_of_function = seep_xcalloc(frame_count, sizeof(*sites->frame_of_function));
	seep_idtable_init(&functions, frame_count);
	seep_idtable_init(&lines, frame_count);
	for (uint32_t i = 0; i < frame_count; i++) {
		add_function(sites, &functions, i);
		add_line(sites, &lines, frame_of_line, i);
	}
	seep_idtable_done(&lines);
	seep_idtable_done(&functions);
	free(frame_of_line);
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

void seep_sites_trim(const struct seep_sites *sites, const struct seep_profile_stack_entry *stack,
		     uint32_t count, uint32_t *ret_first, uint32_t *ret_end)
{
	uint32_t end = count;
	uint32_t first = 0;

	while (end > 1 && sites->of_frame[stack[end - 1].frame].startup)
		end--;
	while (first < end && sites->of_frame[stack[first].frame].plumbing)
		first++;
	*ret_first = first < end ? first : 0;
	*ret_end = end;
}
