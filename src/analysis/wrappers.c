/* SPDX-License-Identifier: MIT */
/*
 * In rounds: the wrappers that one round finds are plumbing to the next, which finds those that are
 * built on top of them.
 */
#include "analysis/wrappers.h"

#include "analysis/function_name.h"
#include "base/arena.h"
#include "base/idtable.h"
#include "core/bits.h"

enum {
	ROUNDS = 4,
	NEAR = 3, /* frames next to the allocator that are looked at: inlined helpers are frames */
	FAMILY_CALLERS = 3,
	FAMILY_SIZES = 3,
	FAMILY_PERCENT = 50,
	NAMED_CALLERS = 2,
	NAMED_SIZES = 2,
	LAYER_CALLERS = 16,
	LAYER_SIZES = 10, /* enough whoever calls: a pool asks for few */
	LAYER_PERCENT = 10,
	ALWAYS_PERCENT = 95, /* a stack in twenty may be cut, or something else for once */
};

/* Of one function, in contexts. */
struct tally {
	uint32_t through;
	uint32_t last;	/* the last one, counted from 1 */
	uint32_t near;	/* where it stands next to the allocator */
	uint32_t first; /* where nothing stands between */
	uint32_t callers;
	uint32_t sizes;
};

/* What stands next to the allocator in one context, and what calls it. */
struct near {
	uint32_t functions[NEAR];
	uint32_t callers[NEAR];
	uint32_t count;
};

struct search {
	struct seep_sites *sites;
	struct tally *tallies;	 /* by function */
	struct near *nears;	 /* by context */
	uint32_t *contexts;	 /* by module: all with their function to blame there */
	uint32_t *families;	 /* by module: those through wrappers of the first sort */
	struct seep_idtable met; /* pairs of function and caller, and of function and size */
};

static uint32_t module_of(const struct search *s, uint32_t frame)
{
	const uint32_t module = s->sites->profile->frames[frame].module;

	return module <= s->sites->profile->module_count ? module : 0;
}

enum pair { CALLER, SIZE };

/* Two pairs that share 64 bits of hash are taken for one. */
static bool is_new(struct search *s, enum pair pair, uint32_t function, uint64_t with)
{
	const uint64_t hash = seep_hash_mix(seep_hash_mix(pair, function), with);
	size_t at = SEEP_IDTABLE_START;

	if (seep_idtable_find(&s->met, hash, &at) != SEEP_IDTABLE_NONE)
		return false;
	seep_idtable_add(&s->met, hash, 0);
	return true;
}

static void count_through(struct search *s)
{
	const struct seep_profile *profile = s->sites->profile;

	for (uint32_t i = 0; i < profile->context_count; i++) {
		const struct seep_profile_context *context = &profile->contexts[i];

		for (uint32_t k = 0; k < context->stack_count; k++) {
			const uint32_t frame = context->stack[k].frame;
			struct tally *tally = &s->tallies[s->sites->of_frame[frame].function];

			tally->through += tally->last != i + 1;
			tally->last = i + 1;
		}
	}
}

/* The function that calls the one at @at, past its own recursion; UINT32_MAX: none is known. */
static uint32_t caller_of(const struct search *s, const struct seep_profile_context *context,
			  uint32_t at)
{
	const struct seep_site *of_frame = s->sites->of_frame;
	const uint32_t function = of_frame[context->stack[at].frame].function;

	while (at < context->stack_count && of_frame[context->stack[at].frame].function == function)
		at++;
	return at < context->stack_count ? of_frame[context->stack[at].frame].function : UINT32_MAX;
}

static bool is_most(uint32_t part, uint32_t all, uint32_t percent)
{
	return all > 0 && (uint64_t)part * 100 >= (uint64_t)all * percent;
}

static bool is_always_near(const struct tally *tally)
{
	return is_most(tally->near, tally->through, ALWAYS_PERCENT);
}

/* Who calls it and for how much: asked of those only that stand next to the allocator always. */
static void count_pairs(struct search *s, const struct seep_profile_context *context,
			const struct near *near)
{
	const uint64_t size = context->alloc_bytes / (context->allocs ? context->allocs : 1);

	for (uint32_t i = 0; i < near->count; i++) {
		struct tally *tally = &s->tallies[near->functions[i]];

		if (!is_always_near(tally))
			continue;
		tally->callers += is_new(s, CALLER, near->functions[i], near->callers[i]);
		tally->sizes += is_new(s, SIZE, near->functions[i], size);
	}
}

static void find_near(struct search *s, const struct seep_profile_context *context,
		      struct near *near)
{
	const struct seep_site *of_frame = s->sites->of_frame;
	const struct seep_profile_stack_entry *stack = context->stack;
	const uint32_t first = seep_sites_plumbing(s->sites, stack, context->stack_count);
	bool direct = true;

	near->count = 0;
	if (first >= context->stack_count)
		return;
	s->contexts[module_of(s, stack[first].frame)]++;
	/* Behind a container anything allocates: nothing can be said of who called it. */
	for (uint32_t i = 0; i < first; i++)
		direct = of_frame[stack[i].frame].allocator ||
			 (direct &&
			  (of_frame[stack[i].frame].system || !of_frame[stack[i].frame].plumbing));
	for (uint32_t i = first; direct && i < first + NEAR && i < context->stack_count; i++) {
		const struct seep_site *site = &of_frame[stack[i].frame];

		if (site->library)
			return;
		if (i > first && of_frame[stack[i - 1].frame].function == site->function)
			continue;
		near->functions[near->count] = site->function;
		near->callers[near->count++] = caller_of(s, context, i);
		s->tallies[site->function].near++;
		s->tallies[site->function].first += i == first;
	}
}

static bool is_always_first(const struct tally *tally)
{
	return is_most(tally->first, tally->through, ALWAYS_PERCENT);
}

static bool is_family(const struct tally *tally)
{
	return is_always_first(tally) && tally->callers >= FAMILY_CALLERS &&
	       tally->sizes >= FAMILY_SIZES && 2 * tally->sizes >= tally->callers;
}

/*
 * However few call it: a profile of a moment ago has not met the others yet. An underscore is how C
 * programs name what stands behind a function of theirs; a name that is not demangled is none.
 */
static bool is_named_like_one(const struct search *s, uint32_t function)
{
	const struct tally *tally = &s->tallies[function];
	const char *name =
		s->sites->profile->frames[s->sites->frame_of_function[function]].function;

	return name != NULL && is_always_first(tally) &&
	       (seep_function_says_alloc(name) ||
		(*name == '_' && name[1] != 'Z' && name[1] != 'R' &&
		 tally->callers >= NAMED_CALLERS && tally->sizes >= NAMED_SIZES));
}

static bool is_wrapper(const struct search *s, uint32_t function)
{
	const struct tally *tally = &s->tallies[function];
	const uint32_t module = module_of(s, s->sites->frame_of_function[function]);

	if (module == 0)
		return false;
	if (is_named_like_one(s, function))
		return true;
	if (is_family(tally) && is_most(s->families[module], s->contexts[module], FAMILY_PERCENT))
		return true;
	return tally->callers >= LAYER_CALLERS &&
	       4 * tally->sizes >= (uint32_t)core_smaller(tally->callers, 4 * LAYER_SIZES) &&
	       is_always_near(tally) && is_most(tally->near, s->contexts[module], LAYER_PERCENT);
}

/* Returns whether any were found. */
static bool search_round(struct search *s)
{
	const struct seep_profile *profile = s->sites->profile;
	bool found = false;

	for (uint32_t i = 0; i < s->sites->function_count; i++)
		s->tallies[i] = (struct tally){ .through = s->tallies[i].through };
	for (uint32_t i = 0; i <= profile->module_count; i++)
		s->contexts[i] = s->families[i] = 0;
	for (uint32_t i = 0; i < profile->context_count; i++)
		find_near(s, &profile->contexts[i], &s->nears[i]);
	seep_idtable_init(&s->met, profile->context_count);
	for (uint32_t i = 0; i < profile->context_count; i++)
		count_pairs(s, &profile->contexts[i], &s->nears[i]);
	seep_idtable_done(&s->met);
	for (uint32_t i = 0; i < s->sites->function_count; i++)
		if (is_family(&s->tallies[i]))
			s->families[module_of(s, s->sites->frame_of_function[i])] +=
				s->tallies[i].first;
	for (uint32_t i = 0; i < profile->frame_count; i++) {
		struct seep_site *site = &s->sites->of_frame[i];

		if (site->plumbing || !is_wrapper(s, site->function))
			continue;
		site->allocator = site->plumbing = found = true;
	}
	return found;
}

void seep_wrappers_mark(struct seep_sites *sites)
{
	SEEP_RELEASED(seep_arena_free_at) struct seep_arena *arena = seep_arena_new();
	const size_t modules = (size_t)sites->profile->module_count + 1;
	struct search s = {
		.sites = sites,
		.tallies = seep_arena_calloc(arena, sites->function_count, sizeof(*s.tallies)),
		.nears = seep_arena_calloc(arena, sites->profile->context_count, sizeof(*s.nears)),
		.contexts = seep_arena_calloc(arena, modules, sizeof(*s.contexts)),
		.families = seep_arena_calloc(arena, modules, sizeof(*s.families)),
	};

	count_through(&s);
	for (unsigned i = 0; i < ROUNDS && search_round(&s); i++)
		;
}
