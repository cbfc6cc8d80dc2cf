/* SPDX-License-Identifier: MIT */
#include "analysis/keep.h"

#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "base/xalloc.h"
#include "core/glob.h"

/* What the globs say of one name. */
enum { WANTED = 1, EXCLUDED = 2 };

static bool has_wanted(const struct seep_keep_globs *globs)
{
	for (size_t i = 0; i < globs->count; i++)
		if (globs->items[i][0] != '!')
			return true;
	return false;
}

static unsigned judge(const struct seep_keep_globs *globs, const char *name)
{
	unsigned verdict = 0;

	for (size_t i = 0; i < globs->count; i++) {
		const bool excludes = globs->items[i][0] == '!';
		const char *text = globs->items[i] + excludes;

		if (core_glob_match((struct core_glob){ text, strlen(text) }, name, strlen(name)))
			verdict |= excludes ? EXCLUDED : WANTED;
	}
	return verdict;
}

/* @verdict: of all names that count, together. */
static bool is_kept(const struct seep_keep_globs *globs, unsigned verdict)
{
	return !(verdict & EXCLUDED) && (verdict & WANTED || !has_wanted(globs));
}

/* What comes before main counts for no module: it is libc's in all stacks. */
static unsigned judge_stack(const struct seep_sites *sites,
			    const struct seep_profile_context *context,
			    const unsigned char *of_module)
{
	const struct seep_profile *profile = sites->profile;
	unsigned verdict = 0;
	uint32_t first;
	uint32_t end;

	seep_sites_trim(sites, context->stack, context->stack_count, &first, &end);
	for (uint32_t i = 0; i < end; i++) {
		const uint32_t module = profile->frames[context->stack[i].frame].module;

		verdict |= of_module[module <= profile->module_count ? module : 0];
	}
	return verdict;
}

static void add(struct seep_profile_context *sum, const struct seep_profile_context *more)
{
	sum->allocs += more->allocs;
	sum->alloc_bytes += more->alloc_bytes;
	sum->frees += more->frees;
	sum->freed_bytes += more->freed_bytes;
	sum->temporary += more->temporary;
	sum->live_blocks += more->live_blocks;
	sum->live_bytes += more->live_bytes;
	sum->peak_blocks += more->peak_blocks;
	sum->peak_bytes += more->peak_bytes;
}

void seep_keep(struct seep_profile *profile, const struct seep_sites *sites,
	       const struct seep_keep_globs *modules, const struct seep_keep_globs *threads)
{
	/* [0]: frames of no module. */
	unsigned char *of_module = seep_xcalloc((size_t)profile->module_count + 1, 1);
	uint32_t kept = 0;

	of_module[0] = (unsigned char)judge(modules, "");
	for (uint32_t i = 0; i < profile->module_count; i++)
		of_module[i + 1] = (unsigned char)judge(
			modules,
			profile->modules[i].path ? seep_path_base(profile->modules[i].path) : "");
	for (uint32_t i = 0; i < profile->context_count; i++) {
		const struct seep_profile_context *context = &profile->contexts[i];
		const char *thread = context->thread ? context->thread : "";

		if (is_kept(modules, judge_stack(sites, context, of_module)) &&
		    is_kept(threads, judge(threads, thread))) {
			profile->contexts[kept++] = *context;
		} else {
			add(&profile->left_out, context);
			profile->left_out_count++;
		}
	}
	profile->context_count = kept;
	free(of_module);
}
