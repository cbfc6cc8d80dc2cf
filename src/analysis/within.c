/* SPDX-License-Identifier: MIT */
#include "analysis/within.h"

#include <string.h>

#include "analysis/function_name.h"
#include "analysis/keep.h"
#include "base/arena.h"
#include "base/path.h"
#include "base/xalloc.h"
#include "core/bits.h"
#include "core/glob.h"
#include "core/nearest.h"
#include "profile/profile_check.h"
#include "profile/symbolise.h"

/* What is known of a frame, a bit each. */
enum { IS_NAMED = 1, IS_IN_MODULE = 2, MAY_BE_NAMED = 4 };

static bool is_called(const char *pattern, const char *name)
{
	const struct core_glob glob = { pattern, strlen(pattern) };

	return name && core_glob_match(glob, name, strlen(name));
}

/* "parse.c:12" and "src/parse.c:12" are "/home/me/src/parse.c:12". */
static bool ends_so(const char *pattern, const char *path)
{
	bool is = is_called(pattern, path);

	while (!is && (path = strchr(path, '/')) != NULL)
		is = is_called(pattern, ++path);
	return is;
}

static unsigned judge_frame(const struct seep_sites *sites, uint32_t index, const char *pattern)
{
	const struct seep_profile_frame *frame = &sites->profile->frames[index];
	const char *module = seep_profile_frame_path(sites->profile, frame);
	const bool is_function = seep_begins_with(pattern, "function:");
	const bool is_module = seep_begins_with(pattern, "module:");
	const bool is_path = !is_function && !is_module && strpbrk(pattern, "./");
	SEEP_FREED char *name = NULL, *place = NULL;

	pattern += is_function ? strlen("function:") : is_module ? strlen("module:") : 0;
	if ((is_module || is_path) && module &&
	    (is_called(pattern, seep_path_base(module)) || is_called(pattern, module)))
		return IS_IN_MODULE;
	if (is_module)
		return 0;
	if (frame->function)
		name = seep_function_short_name(frame->function, frame->file);
	if (is_called(pattern, frame->function) || is_called(pattern, name))
		return IS_NAMED;
	if (is_path && frame->file)
		place = seep_xasprintf("%s:%u", frame->file, frame->line);
	if (place && (ends_so(pattern, frame->file) || ends_so(pattern, place)))
		return IS_NAMED;
	/* Code of libraries without names is not what people mean. */
	return sites->of_frame[index].own && (!frame->function || (is_path && !frame->file))
		       ? MAY_BE_NAMED
		       : 0;
}

unsigned char *seep_within_frames(const struct seep_sites *sites, const char *const *patterns,
				  size_t count, bool *ret_used)
{
	const uint32_t frame_count = sites->profile->frame_count;
	unsigned char *frames = seep_xcalloc(frame_count, 1);

	for (size_t i = 0; i < count; i++)
		for (uint32_t f = 0; f < frame_count; f++) {
			const unsigned is = judge_frame(sites, f, patterns[i]);

			frames[f] |= (unsigned char)is;
			if (ret_used && is & (IS_NAMED | IS_IN_MODULE))
				ret_used[i] = true;
		}
	return frames;
}

enum seep_whether seep_within_stack(const struct seep_sites *sites, const unsigned char *frames,
				    const struct seep_profile_context *context)
{
	bool perhaps;
	struct seep_stack_part part;

	if (!context || context->stack_count == 0)
		return SEEP_PERHAPS;
	perhaps = context->damaged || context->truncated || context->cut || context->site;
	part = seep_sites_trim(sites, context->stack, context->stack_count);
	for (uint32_t i = 0; i < context->stack_count; i++) {
		const unsigned is = frames[context->stack[i].frame];

		if (is & IS_NAMED || (i < part.end && is & IS_IN_MODULE))
			return SEEP_YES;
		perhaps |= i < part.end && is & MAY_BE_NAMED;
	}
	return perhaps ? SEEP_PERHAPS : SEEP_NO;
}

static void keep_leaks(struct seep_profile *profile, const bool *wanted)
{
	SEEP_FREED uint32_t *place_of = seep_xcalloc((size_t)profile->leak_count + 1,
						     sizeof(*place_of));
	uint32_t kept = 0;

	for (uint32_t i = 0; i < profile->leak_count; i++) {
		if (!wanted[profile->leaks[i].context])
			continue;
		profile->leaks[kept] = profile->leaks[i];
		profile->leaks[kept].with_blocks = profile->leaks[kept].with_bytes = 0;
		place_of[i + 1] = ++kept;
	}
	profile->leak_count = kept;
	profile->scan.blocks = 0;
	for (uint32_t i = 0; i < kept; i++) {
		struct seep_profile_leak *leak = &profile->leaks[i];

		core_add(&profile->scan.blocks, leak->blocks);
		leak->root = place_of[leak->root];
		if (leak->root == 0)
			continue;
		core_add(&profile->leaks[leak->root - 1].with_blocks, leak->blocks);
		core_add(&profile->leaks[leak->root - 1].with_bytes, leak->bytes);
	}
}

static void keep_findings(struct seep_profile *profile, const bool *wanted)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < profile->finding_count; i++) {
		const struct seep_profile_finding *finding = &profile->findings[i];

		if (wanted[finding->here] || (finding->block && wanted[finding->block]))
			profile->findings[kept++] = *finding;
	}
	profile->finding_count = kept;
}

struct seep_counts seep_within(struct seep_profile *profile, const struct seep_sites *sites,
			       const struct seep_profile_within *within, bool *used)
{
	const uint32_t count = profile->context_count + profile->left_out_count;
	SEEP_FREED unsigned char *inside = seep_within_frames(sites, within->within,
							      within->within_count, used);
	SEEP_FREED unsigned char *outside =
		seep_within_frames(sites, within->without, within->without_count,
				   used ? used + within->within_count : NULL);
	/* By index + 1; [0]: what has no context here. */
	SEEP_FREED bool *wanted = seep_xcalloc((size_t)count + 1, sizeof(*wanted));
	const struct seep_profile_totals whole = profile->totals;
	struct seep_counts unsure = { 0 }, all = { 0 }, sums = { 0 };

	for (uint32_t i = 0; i < count; i++)
		seep_counts_add_context(&all, &profile->contexts[i]);
	wanted[0] = within->within_count == 0;
	for (uint32_t i = 0; i < count; i++) {
		struct seep_profile_context *context = &profile->contexts[i];
		enum seep_whether is = wanted[0] ? SEEP_YES
						 : seep_within_stack(sites, inside, context);

		if (is != SEEP_NO && seep_within_stack(sites, outside, context) == SEEP_YES)
			is = SEEP_NO;
		wanted[i + 1] = is == SEEP_YES;
		if (is == SEEP_PERHAPS)
			seep_counts_add_context(&unsure, context);
		if (is == SEEP_YES)
			continue;
		memset(context->figures, 0, sizeof(context->figures));
		context->errors = NULL;
		context->epoch_count = 0;
		context->growth = NULL;
	}
	keep_leaks(profile, wanted);
	keep_findings(profile, wanted);
	seep_keep_contexts(profile, wanted + 1);
	profile->totals = (struct seep_profile_totals){ .peak_at_ns = profile->totals.peak_at_ns };
	(void)seep_profile_sum(profile, &profile->totals); /* parts of what was summed before */
	for (uint32_t i = 0; i < profile->context_count; i++)
		seep_counts_add_context(&sums, &profile->contexts[i]);
	for (int f = 0; f < SEEP_FIGURE_COUNT; f++)
		profile->totals.errors[f] = seep_counts_part_error(&sums, &all, whole.errors[f], f);
	profile->forked = (struct seep_profile_forked){ 0 };
	profile->run = (struct seep_profile_run){ 0 };
	profile->other_count = profile->sample_count = 0;
	profile->within = within;
	return unsure;
}

static void *copied(struct seep_profile *profile, const void *items, size_t bytes)
{
	void *copy = seep_xmemdup(items, bytes);

	seep_arena_take(profile->arena, copy);
	return copy;
}

struct seep_profile *seep_within_copy(struct seep_profile *whole, struct seep_symbols *symbols,
				      const struct seep_profile_within *within,
				      struct seep_profile *copy)
{
	SEEP_RELEASED(seep_sites_free_at) struct seep_sites *sites = NULL;
	const size_t count = (size_t)whole->context_count + whole->left_out_count;

	if (!within)
		return whole;
	/* All stacks together too long: the last ones lack inlined calls. */
	(void)!seep_profile_symbolise(whole, symbols, false, NULL, NULL);
	sites = seep_sites_new(whole);
	seep_arena_free(copy->arena);
	*copy = *whole;
	copy->arena = seep_arena_new();
	copy->leak_count = copy->row_count = 0;
	/* What is written to. */
	copy->contexts = copied(copy, whole->contexts, count * sizeof(*whole->contexts));
	copy->findings = copied(copy, whole->findings,
				whole->finding_count * sizeof(*whole->findings));
	copy->places = copied(copy, whole->places, whole->place_count * sizeof(*whole->places));
	(void)seep_within(copy, sites, within, NULL);
	return copy;
}

int seep_within_fail(const struct seep_profile *profile, const char *pattern,
		     struct seep_error *err)
{
	struct core_nearest nearest;
	const char *near;

	core_nearest_init(&nearest, pattern);
	for (uint32_t i = 0; i < profile->frame_count; i++) {
		const struct seep_profile_frame *frame = &profile->frames[i];
		const char *file = frame->file ? seep_path_base(frame->file) : "";

		core_nearest_offer(&nearest, frame->function ? frame->function : "");
		core_nearest_offer(&nearest, file);
	}
	near = core_nearest_word(&nearest);
	return seep_fail(err, SEEP_ENOTFOUND, "no call stack %sgoes through %s%s%s%s",
			 profile->process.tiers ? "that was walked " : "", pattern,
			 near ? "; did you mean " : "", near ? near : "", near ? "?" : "");
}
