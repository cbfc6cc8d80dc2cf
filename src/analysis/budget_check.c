/* SPDX-License-Identifier: MIT */
#include "analysis/budget_check.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/function_name.h"
#include "analysis/group.h"
#include "base/path.h"
#include "base/search.h"
#include "base/xalloc.h"
#include "core/glob.h"
#include "profile/verdict.h"

const char *const seep_budget_result_names[] = {
	[SEEP_BUDGET_KEPT] = "kept",
	[SEEP_BUDGET_BROKEN] = "broken",
	[SEEP_BUDGET_NOT_KNOWN] = "not-known",
};

/* One budget and one profile. */
struct checker {
	const struct seep_budget *budget;
	const struct seep_budget_side *side;
	const struct seep_budget_known *known; /* NULL: everything counts */
	uint32_t leak_kinds;
	bool *is_named; /* by function or module: it is of the place; NULL: all are */
};

struct sum {
	uint64_t value;
	uint64_t unsure; /* of stacks that are not whole */
	bool has_place;
};

static void add(uint64_t *sum, uint64_t more)
{
	if (__builtin_add_overflow(*sum, more, sum))
		*sum = UINT64_MAX;
}

/* ---- what is of a place ---------------------------------------------------------------------- */

static bool is_of_module(enum seep_budget_place place)
{
	return place == SEEP_PLACE_MODULE || place == SEEP_PLACE_OWN_MODULE;
}

static bool is_called(const char *glob, const char *name)
{
	const struct core_glob pattern = { glob, strlen(glob) };

	return core_glob_match(pattern, name, strlen(name));
}

/* As it is written in full, and as reports write it. */
static bool is_function_called(const char *glob, const char *function)
{
	char *name = seep_function_short_name(function);
	const bool is = is_called(glob, function) || is_called(glob, name);

	free(name);
	return is;
}

static void find_place(struct checker *c)
{
	const struct seep_profile *profile = c->side->profile;
	const struct seep_sites *sites = c->side->sites;
	const char *glob = c->budget->glob;

	if (c->budget->place == SEEP_PLACE_ALL)
		return;
	if (!is_of_module(c->budget->place)) {
		c->is_named = seep_xcalloc(sites->function_count, sizeof(*c->is_named));
		for (uint32_t i = 0; i < sites->function_count; i++) {
			const char *name = profile->frames[sites->frame_of_function[i]].function;

			c->is_named[i] = name && is_function_called(glob, name);
		}
		return;
	}
	c->is_named = seep_xcalloc(profile->module_count, sizeof(*c->is_named));
	for (uint32_t i = 0; i < profile->module_count; i++) {
		const char *path = profile->modules[i].path;

		c->is_named[i] = path &&
				 (is_called(glob, seep_path_base(path)) || is_called(glob, path));
	}
}

static bool is_frame_named(const struct checker *c, uint32_t frame)
{
	const uint32_t module = c->side->profile->frames[frame].module;

	if (!is_of_module(c->budget->place))
		return c->is_named[c->side->sites->of_frame[frame].function];
	return module > 0 && module <= c->side->profile->module_count && c->is_named[module - 1];
}

static bool is_own(const struct checker *c)
{
	return c->budget->place == SEEP_PLACE_OWN_FUNCTION ||
	       c->budget->place == SEEP_PLACE_OWN_MODULE;
}

/* Is the context of the place? @context NULL: its stack is not here. */
static bool is_in_place(const struct checker *c, const struct seep_profile_context *context)
{
	uint32_t first, end;

	if (!c->is_named)
		return true;
	if (!context || context->stack_count == 0)
		return false;
	if (is_own(c)) {
		seep_sites_trim(c->side->sites, context->stack, context->stack_count, &first, &end);
		return is_frame_named(c, context->stack[first].frame);
	}
	for (uint32_t i = 0; i < context->stack_count; i++)
		if (is_frame_named(c, context->stack[i].frame))
			return true;
	return false;
}

/* The program's own code without a name may be the function that is meant. */
static bool is_nameless(const struct checker *c, uint32_t frame)
{
	return !is_of_module(c->budget->place) && !c->side->profile->frames[frame].function &&
	       c->side->sites->of_frame[frame].own;
}

/* Of what is not of the place: could it be, by frames that are not here, or have no name? */
static bool is_unsure(const struct checker *c, const struct seep_profile_context *context)
{
	uint32_t first, end;

	if (!context || context->stack_count == 0 || context->damaged)
		return true;
	if (is_own(c)) {
		seep_sites_trim(c->side->sites, context->stack, context->stack_count, &first, &end);
		return is_nameless(c, context->stack[first].frame);
	}
	for (uint32_t i = 0; i < context->stack_count; i++)
		if (is_nameless(c, context->stack[i].frame))
			return true;
	return context->truncated || context->cut;
}

/* ---- what counts ----------------------------------------------------------------------------- */

static bool is_known(const uint64_t *hashes, size_t count, uint64_t hash)
{
	const size_t upto = seep_search_upto(hashes, count, sizeof(*hashes), hash);

	return hash != 0 && upto > 0 && hashes[upto - 1] == hash;
}

static bool is_of_leaks(enum seep_budget_measure measure)
{
	return measure == SEEP_BUDGET_LEAKS || measure == SEEP_BUDGET_LOST;
}

static bool is_leak(const struct checker *c, const struct seep_profile_leak *leak)
{
	return leak->verdict < SEEP_VERDICT_COUNT && c->leak_kinds >> leak->verdict & 1 &&
	       !(c->known && is_known(c->known->leaks, c->known->leak_count, leak->hash));
}

/* What goes with a leak that counts is a part of it. */
static bool is_part(const struct checker *c, const struct seep_profile_leak *leak)
{
	const struct seep_profile *profile = c->side->profile;
	const struct seep_profile_leak *root;

	if (leak->verdict != SEEP_VERDICT_LOST_WITH || leak->root == 0 ||
	    leak->root > profile->leak_count)
		return false;
	root = &profile->leaks[leak->root - 1];
	return root->verdict != SEEP_VERDICT_LOST_WITH && is_leak(c, root) &&
	       is_in_place(c, seep_profile_leak_context(profile, root));
}

static uint64_t leak_value(const struct checker *c, const struct seep_profile_leak *leak)
{
	if (!is_leak(c, leak))
		return 0;
	return c->budget->measure == SEEP_BUDGET_LOST ? leak->bytes : !is_part(c, leak);
}

static uint64_t context_value(const struct checker *c, const struct seep_profile_context *context)
{
	switch (c->budget->measure) {
	case SEEP_BUDGET_PEAK:
		return context->peak_bytes;
	case SEEP_BUDGET_LIVE:
		return context->live_bytes;
	case SEEP_BUDGET_BLOCKS:
		return context->live_blocks;
	case SEEP_BUDGET_ALLOCS:
		return context->allocs;
	case SEEP_BUDGET_ALLOCATED:
		return context->alloc_bytes;
	case SEEP_BUDGET_TEMPORARY:
		return context->temporary;
	default:
		break;
	}
	if (!context->growth || context->growth->verdict != SEEP_GROWTH_GROWING ||
	    (c->known && is_known(c->known->growing, c->known->growing_count, context->hash)))
		return 0;
	return context->growth->bytes;
}

static void count(const struct checker *c, const struct seep_profile_context *context,
		  uint64_t value, struct sum *sum)
{
	if (is_in_place(c, context)) {
		sum->has_place = true;
		add(&sum->value, value);
	} else if (is_unsure(c, context)) {
		add(&sum->unsure, value);
	}
}

static struct sum measure(const struct checker *c)
{
	const struct seep_profile *profile = c->side->profile;
	const bool of_leaks = is_of_leaks(c->budget->measure);
	struct sum sum = { 0 };

	for (uint32_t i = 0; i < profile->context_count; i++)
		count(c, &profile->contexts[i],
		      of_leaks ? 0 : context_value(c, &profile->contexts[i]), &sum);
	for (uint32_t i = 0; i < profile->leak_count && of_leaks; i++)
		count(c, seep_profile_leak_context(profile, &profile->leaks[i]),
		      leak_value(c, &profile->leaks[i]), &sum);
	if (c->budget->measure == SEEP_BUDGET_PEAK)
		add(&sum.unsure, profile->totals.peak_error_bytes);
	return sum;
}

/* ---- what is not known ----------------------------------------------------------------------- */

/* Codes of profile->unseen after which figures may be wrong, and where. */
enum doubt_of {
	DOUBT_OF_ALL,
	DOUBT_OF_NOTHING, /* where nothing was counted; else all are counted, though without stacks */
	DOUBT_OF_OTHERS, /* other processes were not seen */
	DOUBT_OF_GROWTH,
	DOUBT_OF_TEMPORARY,
};

static const struct {
	const char *code;
	enum doubt_of of;
} doubts[] = {
	{ "ledger-damaged", DOUBT_OF_ALL },	{ "ledger-cut", DOUBT_OF_ALL },
	{ "no-memory", DOUBT_OF_ALL },		{ "own-allocator", DOUBT_OF_ALL },
	{ "bound-elsewhere", DOUBT_OF_ALL },	{ "unaligned", DOUBT_OF_ALL },
	{ "page-map", DOUBT_OF_ALL },		{ "in-doubt", DOUBT_OF_ALL },
	{ "ledger-full", DOUBT_OF_NOTHING },	{ "ledger-refused", DOUBT_OF_NOTHING },
	{ "no-space", DOUBT_OF_NOTHING },	{ "no-allocations", DOUBT_OF_NOTHING },
	{ "run-incomplete", DOUBT_OF_OTHERS },	{ "unrecorded-child", DOUBT_OF_OTHERS },
	{ "exec-unrecorded", DOUBT_OF_OTHERS }, { "growth-full", DOUBT_OF_GROWTH },
	{ "imported", DOUBT_OF_TEMPORARY },
};

/* Many of a shell's commands allocate nothing. */
static bool is_nothing(const struct seep_profile *profile, const struct seep_budget_plan *plan)
{
	return seep_profile_is_void(profile) ||
	       (!plan->is_child && profile->totals.allocs == 0 && profile->totals.live_blocks == 0);
}

static bool matters(enum doubt_of of, const struct checker *c, const struct seep_budget_plan *plan)
{
	switch (of) {
	case DOUBT_OF_NOTHING:
		return is_nothing(c->side->profile, plan);
	case DOUBT_OF_OTHERS:
		return !plan->alone;
	case DOUBT_OF_GROWTH:
		return c->budget->measure == SEEP_BUDGET_GROWTH;
	case DOUBT_OF_TEMPORARY:
		return c->budget->measure == SEEP_BUDGET_TEMPORARY;
	default:
		return true;
	}
}

static char *because(struct seep_budget_outcome *outcome, const char *code, const char *reason)
{
	outcome->code = code;
	return seep_xstrdup(reason);
}

static char *doubt_of(const struct checker *c, struct seep_budget_outcome *outcome,
		      const struct seep_budget_plan *plan)
{
	const struct seep_profile *profile = c->side->profile;

	for (size_t i = 0; i < sizeof(doubts) / sizeof(doubts[0]); i++)
		for (uint32_t k = 0; k < profile->unseen_count; k++)
			if (strcmp(profile->unseen[k].code, doubts[i].code) == 0 &&
			    matters(doubts[i].of, c, plan))
				return because(outcome, doubts[i].code, profile->unseen[k].detail);
	if (is_nothing(profile, plan))
		return because(outcome, "no-allocations", "nothing was counted");
	if (profile->totals.in_doubt > 0)
		return because(outcome, "in-doubt",
			       "operations are counted in part: the process died, or a signal "
			       "handler left them");
	return NULL;
}

/* Why the figure is not known, or NULL. */
static char *unknown_of(const struct checker *c, struct seep_budget_outcome *outcome,
			const struct seep_budget_plan *plan)
{
	const struct seep_profile *profile = c->side->profile;
	const enum seep_budget_measure what = c->budget->measure;

	if (is_of_leaks(what) && !profile->scan.done) {
		outcome->code = "no-scan";
		return seep_xasprintf("not scanned for leaks: %s",
				      profile->scan.why_not ? profile->scan.why_not
							    : "no leak check was made");
	}
	if (what == SEEP_BUDGET_GROWTH && profile->growth_after_ns == 0)
		return because(outcome, "no-growth",
			       "growth was not judged: the process was not watched for "
			       "--growth-after, or not at all");
	if (what == SEEP_BUDGET_PEAK && profile->totals.peak_bytes < profile->totals.live_bytes)
		return because(outcome, "no-peak", "the recording has no peak");
	if (what >= SEEP_BUDGET_ALLOCS && profile->totals.allocs < profile->totals.live_blocks)
		return because(outcome, "no-allocs", "the recording has live blocks only");
	return doubt_of(c, outcome, plan);
}

/* ---- the outcome ----------------------------------------------------------------------------- */

static void set_limit(struct seep_budget_outcome *outcome)
{
	const struct seep_budget *budget = outcome->budget;
	unsigned __int128 more = budget->limit;

	if (budget->is_share)
		more = (unsigned __int128)outcome->base * budget->limit / 1000000;
	outcome->limit = more > UINT64_MAX ? UINT64_MAX : (uint64_t)more;
	if (budget->is_relative)
		add(&outcome->limit, outcome->base);
}

/* More than nothing is allowed, so what is as before is kept, however little a share is of it. */
static bool is_kept(const struct seep_budget_outcome *outcome, uint64_t value)
{
	if (outcome->budget->is_relative && value <= outcome->base)
		return true;
	return outcome->budget->is_below ? value < outcome->limit : value <= outcome->limit;
}

/* What the baseline has. Returns why that is not known, or NULL. */
static char *look_at_baseline(const struct checker *c, const struct seep_budget_plan *plan,
			      struct seep_budget_outcome *outcome)
{
	struct checker before = { .budget = c->budget, .leak_kinds = c->leak_kinds };
	char *reason, *whole;
	struct sum sum;

	if (!plan->baseline)
		return because(outcome, "no-baseline",
			       "the baseline has no recording of this program");
	before.side = plan->baseline;
	find_place(&before);
	sum = measure(&before);
	outcome->base = sum.value;
	reason = unknown_of(&before, outcome, plan);
	free(before.is_named);
	if (!reason)
		return NULL;
	whole = seep_xasprintf("of the baseline: %s", reason);
	free(reason);
	return whole;
}

static int by_value(const void *left, const void *right)
{
	const struct seep_budget_stack *a = left, *b = right;

	if (a->value != b->value)
		return a->value > b->value ? -1 : 1;
	if (a->hash != b->hash)
		return a->hash < b->hash ? -1 : 1;
	return (a->context > b->context) - (a->context < b->context);
}

static void list_leaks(const struct checker *c, struct seep_budget_outcome *outcome)
{
	const struct seep_profile *profile = c->side->profile;

	outcome->stacks = seep_xcalloc(profile->leak_count, sizeof(*outcome->stacks));
	for (uint32_t i = 0; i < profile->leak_count; i++) {
		const struct seep_profile_leak *leak = &profile->leaks[i];
		const struct seep_profile_context *context = seep_profile_leak_context(profile,
										       leak);
		struct seep_budget_stack *stack = &outcome->stacks[outcome->stack_count];

		if (!is_leak(c, leak) || is_part(c, leak) || !is_in_place(c, context))
			continue;
		*stack = (struct seep_budget_stack){ context ? leak->context : 0, leak, leak->hash,
						     leak->bytes, leak->blocks };
		add(&stack->value, leak->with_bytes);
		add(&stack->blocks, leak->with_blocks);
		outcome->stack_count++;
	}
}

static uint64_t blocks_of(const struct checker *c, const struct seep_profile_context *context)
{
	if (c->budget->measure == SEEP_BUDGET_PEAK)
		return context->peak_blocks;
	return c->budget->measure < SEEP_BUDGET_ALLOCS ? context->live_blocks : context->allocs;
}

/* Stacks that a reader cannot tell apart are one. */
static void list_stacks(const struct checker *c, struct seep_budget_outcome *outcome)
{
	struct seep_groups *groups = seep_groups_new(c->side->sites, true, false);
	const struct seep_profile_context *contexts = c->side->profile->contexts;

	outcome->stacks = seep_xcalloc(groups->count, sizeof(*outcome->stacks));
	for (uint32_t i = 0; i < groups->count; i++) {
		struct seep_budget_stack *stack = &outcome->stacks[outcome->stack_count];
		uint32_t context = groups->items[i].context;

		*stack = (struct seep_budget_stack){ .context = context + 1,
						     .hash = contexts[context].hash };
		for (uint32_t k = groups->items[i].context_count; k > 0;
		     k--, context = groups->next[context])
			if (is_in_place(c, &contexts[context])) {
				add(&stack->value, context_value(c, &contexts[context]));
				add(&stack->blocks, blocks_of(c, &contexts[context]));
			}
		outcome->stack_count += stack->value > 0;
	}
	seep_groups_free(groups);
}

static void list(const struct checker *c, struct seep_budget_outcome *outcome)
{
	(is_of_leaks(c->budget->measure) ? list_leaks : list_stacks)(c, outcome);
	if (outcome->stack_count > 1)
		qsort(outcome->stacks, outcome->stack_count, sizeof(*outcome->stacks), by_value);
	if (outcome->stack_count > SEEP_BUDGET_STACKS_MAX) {
		outcome->left_out = outcome->stack_count - SEEP_BUDGET_STACKS_MAX;
		outcome->stack_count = SEEP_BUDGET_STACKS_MAX;
	}
}

struct seep_budget_outcome seep_budget_check(const struct seep_budget *budget,
					     const struct seep_budget_side *side,
					     const struct seep_budget_plan *plan)
{
	struct checker c = {
		.budget = budget,
		.side = side,
		/* What grew of known leaks shows in a limit that is relative to all of them. */
		.known = plan->has_baseline && !budget->is_relative ? &plan->known : NULL,
		.leak_kinds = plan->leak_kinds,
	};
	struct seep_budget_outcome outcome = { .budget = budget };
	struct sum sum;
	uint64_t most;

	find_place(&c);
	sum = measure(&c);
	most = sum.value;
	add(&most, sum.unsure);
	outcome.value = sum.value;
	outcome.unsure = sum.unsure;
	outcome.has_place = sum.has_place;
	if (budget->is_relative)
		outcome.reason = look_at_baseline(&c, plan, &outcome);
	set_limit(&outcome);
	if (!outcome.reason && !is_kept(&outcome, sum.value)) {
		outcome.result = SEEP_BUDGET_BROKEN;
		list(&c, &outcome);
	} else {
		if (!outcome.reason)
			outcome.reason = unknown_of(&c, &outcome, plan);
		if (!outcome.reason && !is_kept(&outcome, most)) {
			outcome.code = "unsure";
			outcome.reason = seep_xasprintf(
				"%s more may belong to it: %s",
				seep_budget_text(budget->measure, sum.unsure).text,
				budget->place ? "call stacks that are not whole, or have functions "
						"without names"
					      : "the peak is not exact");
		}
		if (outcome.reason)
			outcome.result = SEEP_BUDGET_NOT_KNOWN;
		outcome.is_excused = outcome.reason && budget->if_known;
	}
	free(c.is_named);
	return outcome;
}

static int by_number(const void *left, const void *right)
{
	const uint64_t *a = left, *b = right;

	return (*a > *b) - (*a < *b);
}

void seep_budget_known_add(struct seep_budget_known *known, const struct seep_profile *profile,
			   uint32_t leak_kinds)
{
	const struct checker c = { .leak_kinds = leak_kinds };

	known->leaks = seep_xrealloc(known->leaks, known->leak_count + profile->leak_count,
				     sizeof(*known->leaks));
	known->growing = seep_xrealloc(known->growing,
				       known->growing_count + profile->context_count,
				       sizeof(*known->growing));
	for (uint32_t i = 0; i < profile->leak_count; i++)
		if (is_leak(&c, &profile->leaks[i]))
			known->leaks[known->leak_count++] = profile->leaks[i].hash;
	for (uint32_t i = 0; i < profile->context_count; i++) {
		const struct seep_profile_context *context = &profile->contexts[i];

		if (context->growth && context->growth->verdict == SEEP_GROWTH_GROWING)
			known->growing[known->growing_count++] = context->hash;
	}
	if (known->leak_count > 1)
		qsort(known->leaks, known->leak_count, sizeof(*known->leaks), by_number);
	if (known->growing_count > 1)
		qsort(known->growing, known->growing_count, sizeof(*known->growing), by_number);
}

void seep_budget_known_done(struct seep_budget_known *known)
{
	free(known->leaks);
	free(known->growing);
	*known = (struct seep_budget_known){ 0 };
}

void seep_budget_outcome_done(struct seep_budget_outcome *outcome)
{
	free(outcome->reason);
	free(outcome->stacks);
}
