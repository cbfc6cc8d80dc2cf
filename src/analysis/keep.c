/* SPDX-License-Identifier: MIT */
#include "analysis/keep.h"

#include <string.h>

#include "analysis/rank.h"
#include "analysis/scope_sums.h"
#include "analysis/threads.h"
#include "base/path.h"
#include "base/texts.h"
#include "base/xalloc.h"
#include "core/glob.h"
#include "core/nearest.h"

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
	const struct seep_stack_part part = seep_sites_trim(sites, context->stack,
							    context->stack_count);

	for (uint32_t i = 0; i < part.end; i++) {
		const uint32_t module = profile->frames[context->stack[i].frame].module;

		verdict |= of_module[module <= profile->module_count ? module : 0];
	}
	return verdict;
}

bool *seep_keep_of_scope(const struct seep_profile *profile, const struct seep_keep_globs *scopes)
{
	SEEP_FREED unsigned *verdicts = seep_xcalloc((size_t)profile->scope_count + 1,
						     sizeof(*verdicts));
	bool *kept = seep_xcalloc((size_t)profile->scope_count + 1, sizeof(*kept));

	kept[0] = is_kept(scopes, 0);
	for (uint32_t i = 0; i < profile->scope_count; i++) {
		const struct seep_profile_scope *scope = &profile->scopes[i];

		verdicts[i + 1] = verdicts[scope->parent] | judge(scopes, scope->tag);
		kept[i + 1] = is_kept(scopes, verdicts[i + 1]);
	}
	return kept;
}

/* What was left out before stays so. */
void seep_keep_contexts(struct seep_profile *profile, const bool *wanted)
{
	const uint32_t count = profile->context_count + profile->left_out_count;
	SEEP_FREED uint32_t *was = seep_xcalloc(count, sizeof(*was));
	SEEP_FREED uint32_t *place_of = seep_xcalloc((size_t)count + 1, sizeof(*place_of));
	uint32_t kept = 0;

	for (uint32_t i = 0; i < count; i++)
		was[i] = i;
	for (uint32_t i = 0; i < profile->context_count; i++) {
		const struct seep_profile_context context = profile->contexts[i];

		if (!wanted[i])
			continue;
		profile->contexts[i] = profile->contexts[kept];
		profile->contexts[kept] = context;
		was[i] = was[kept];
		was[kept++] = i;
	}
	for (uint32_t i = 0; i < count; i++)
		place_of[was[i] + 1] = i + 1;
	seep_profile_renumber(profile, place_of);
	profile->left_out_count += profile->context_count - kept;
	profile->context_count = kept;
}

void seep_keep(struct seep_profile *profile, const struct seep_sites *sites,
	       const struct seep_keep_globs *modules, const struct seep_keep_globs *threads,
	       const struct seep_keep_globs *scopes)
{
	/* [0]: frames of no module. */
	SEEP_FREED unsigned char *of_module = seep_xcalloc((size_t)profile->module_count + 1, 1);
	SEEP_FREED bool *of_scope = seep_keep_of_scope(profile, scopes);
	SEEP_FREED bool *wanted = seep_xcalloc(profile->context_count, sizeof(*wanted));

	of_module[0] = (unsigned char)judge(modules, "");
	for (uint32_t i = 0; i < profile->module_count; i++)
		of_module[i + 1] = (unsigned char)judge(
			modules,
			profile->modules[i].path ? seep_path_base(profile->modules[i].path) : "");
	for (uint32_t i = 0; i < profile->context_count; i++) {
		const struct seep_profile_context *context = &profile->contexts[i];
		const char *thread = context->thread ? context->thread : "";

		wanted[i] = is_kept(modules, judge_stack(sites, context, of_module)) &&
			    is_kept(threads, judge(threads, thread)) && of_scope[context->scope];
	}
	seep_keep_contexts(profile, wanted);
}

void seep_keep_allocations(struct seep_profile *profile)
{
	SEEP_FREED bool *wanted = seep_xcalloc(profile->context_count, sizeof(*wanted));

	for (uint32_t i = 0; i < profile->context_count; i++)
		wanted[i] = profile->contexts[i].kind != LEDGER_KIND_FREE;
	seep_keep_contexts(profile, wanted);
}

enum { CANDIDATES = 5 };

/* Names that could have been meant, those that most stacks have first. */
static struct seep_texts modules_of(const struct seep_sites *sites)
{
	const struct seep_profile *profile = sites->profile;
	SEEP_FREED struct seep_ranked *ranked = seep_xcalloc(profile->module_count,
							     sizeof(*ranked));
	struct seep_texts found = { 0 };

	for (uint32_t i = 0; i < profile->module_count; i++)
		ranked[i].index = i;
	for (uint32_t i = 0; i < profile->context_count; i++) {
		const struct seep_profile_context *context = &profile->contexts[i];
		const struct seep_stack_part part = seep_sites_trim(sites, context->stack,
								    context->stack_count);

		for (uint32_t k = 0; k < part.end; k++) {
			const uint32_t m = profile->frames[context->stack[k].frame].module;

			if (m > 0 && m <= profile->module_count)
				ranked[m - 1].value++;
		}
	}
	(void)seep_rank_top(ranked, profile->module_count, profile->module_count);
	for (uint32_t i = 0; i < profile->module_count && ranked[i].value > 0; i++) {
		const char *path = profile->modules[ranked[i].index].path;

		if (path != NULL)
			seep_texts_take(&found, seep_xstrdup(seep_path_base(path)));
	}
	return found;
}

static struct seep_texts threads_of(const struct seep_profile *profile)
{
	SEEP_FREED struct seep_threads *threads = seep_threads_new(NULL, profile, NULL,
								   SEEP_BY_ALLOCS, false);
	struct seep_texts found = { 0 };

	for (uint32_t i = 0; i < threads->count; i++)
		seep_texts_take(&found,
				seep_xstrdup(threads->items[i].name ? threads->items[i].name : ""));
	return found;
}

static struct seep_texts tags_of(const struct seep_profile *profile)
{
	SEEP_RELEASED(seep_scopes_done) struct seep_scopes scopes;
	struct seep_texts found = { 0 };

	seep_scopes_init(&scopes, profile, 0, false);
	for (uint32_t i = 0; i < scopes.tag_count; i++)
		seep_texts_take(&found, seep_xstrdup(scopes.tags[i].tag));
	return found;
}

static int fail_unknown(const char *what, const char *glob, const struct seep_texts *known,
			struct seep_error *err)
{
	SEEP_FREED char *list = seep_texts_join(known, ", ", CANDIDATES);
	struct core_nearest nearest;
	const char *near;

	core_nearest_init(&nearest, glob);
	for (size_t i = 0; i < known->count; i++)
		core_nearest_offer(&nearest, known->items[i]);
	near = core_nearest_word(&nearest);
	return seep_fail(err, SEEP_EUSAGE, "no %s of any stack matches \"%s\"%s%s%s%s%s", what,
			 glob, near ? "; did you mean " : "", near ? near : "", near ? "?" : "",
			 known->count > 0
				 ? (near ? " The most frequent are " : "; the most frequent are ")
				 : "",
			 list);
}

static int check_globs(const struct seep_keep_globs *globs, const char *what,
		       struct seep_texts known, struct seep_error *err)
{
	int ret = 0;

	for (size_t i = 0; i < globs->count && ret == 0; i++) {
		const struct seep_keep_globs one = { &globs->items[i], 1 };
		unsigned verdict = 0;

		for (size_t k = 0; k < known.count; k++)
			verdict |= judge(&one, known.items[k]);
		if (verdict == 0)
			ret = fail_unknown(what, globs->items[i] + (globs->items[i][0] == '!'),
					   &known, err);
	}
	seep_texts_done(&known);
	return ret;
}

int seep_keep_check(const struct seep_sites *sites, const struct seep_keep_globs *modules,
		    const struct seep_keep_globs *threads, const struct seep_keep_globs *scopes,
		    struct seep_error *err)
{
	int ret = check_globs(modules, "module", modules_of(sites), err);

	if (ret == 0 && scopes->count > 0 && sites->profile->scope_count == 0)
		return seep_fail(err, SEEP_EUSAGE,
				 "the program opened no scopes; <seep/seep.h> has SEEP_SCOPE()");
	if (ret == 0)
		ret = check_globs(scopes, "scope", tags_of(sites->profile), err);
	if (ret == 0 && threads->count > 0 && !seep_threads_known(sites->profile))
		return seep_fail(err, SEEP_EUSAGE,
				 "it is not known which thread allocated what; \"seep run "
				 "--by-thread\" records it");
	return ret < 0 ? ret : check_globs(threads, "thread", threads_of(sites->profile), err);
}
