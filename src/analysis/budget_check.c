/* SPDX-License-Identifier: MIT */
#include "analysis/budget_check.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/function_name.h"
#include "analysis/group.h"
#include "base/path.h"
#include "base/xalloc.h"
#include "core/glob.h"
#include "profile/verdict.h"

/* One budget and one profile. */
struct checker {
	const struct seep_budget *budget;
	const struct seep_profile *profile;
	const struct seep_sites *sites;
	const struct seep_baseline *known; /* NULL: everything counts */
	bool *is_named;	 /* by function, or by module + 1: it is of the place; NULL: all are */
	uint64_t unsure; /* so much more may be of it */
	struct seep_budget_outcome *outcome;
	size_t capacity;
};

static void add(uint64_t *sum, uint64_t more)
{
	if (__builtin_add_overflow(*sum, more, sum))
		*sum = UINT64_MAX;
}

/* ---- what is of a place ---------------------------------------------------------------------- */

static bool is_called(const struct checker *c, const char *name)
{
	const struct core_glob glob = { c->budget->glob, strlen(c->budget->glob) };

	return core_glob_match(glob, name, strlen(name));
}

/* As it is written in full, and as reports write it. */
static bool is_function_called(const struct checker *c, const char *function)
{
	char *name = seep_function_short_name(function);
	const bool is = is_called(c, function) || is_called(c, name);

	free(name);
	return is;
}

static void find_place(struct checker *c)
{
	const struct seep_profile *profile = c->profile;

	if (c->budget->place == SEEP_PLACE_FUNCTION) {
		c->is_named = seep_xcalloc(c->sites->function_count, sizeof(*c->is_named));
		for (uint32_t i = 0; i < c->sites->function_count; i++) {
			const char *name = profile->frames[c->sites->frame_of_function[i]].function;

			c->is_named[i] = name && is_function_called(c, name);
		}
	} else if (c->budget->place == SEEP_PLACE_MODULE) {
		c->is_named = seep_xcalloc(profile->module_count + 1u, sizeof(*c->is_named));
		for (uint32_t i = 0; i < profile->module_count; i++) {
			const char *path = profile->modules[i].path;

			c->is_named[i + 1] = path && (is_called(c, seep_path_base(path)) ||
						      is_called(c, path));
		}
	}
}

enum whether { NO, YES, PERHAPS };

static enum whether is_frame_in_place(const struct checker *c, uint32_t frame)
{
	const struct seep_profile_frame *f = &c->profile->frames[frame];

	if (c->budget->place == SEEP_PLACE_MODULE)
		return c->is_named[f->module <= c->profile->module_count ? f->module : 0];
	/* The program's own code without a name may be the function that is meant. */
	if (!f->function && c->sites->of_frame[frame].own)
		return PERHAPS;
	return c->is_named[c->sites->of_frame[frame].function];
}

/* @context NULL: its stack is not here. What comes before main is libc's in all stacks. */
static enum whether is_in_place(const struct checker *c, const struct seep_profile_context *context)
{
	enum whether found = PERHAPS;
	uint32_t first, end;

	if (!c->is_named)
		return YES;
	if (!context || context->stack_count == 0)
		return PERHAPS;
	if (!context->damaged && !context->truncated && !context->cut)
		found = NO;
	seep_sites_trim(c->sites, context->stack, context->stack_count, &first, &end);
	for (uint32_t i = 0; i < end; i++) {
		const enum whether one = is_frame_in_place(c, context->stack[i].frame);

		if (one == YES)
			return YES;
		if (one == PERHAPS)
			found = PERHAPS;
	}
	return found;
}

/* ---- what counts ----------------------------------------------------------------------------- */

static bool is_of_leaks(const struct checker *c)
{
	return c->budget->measure == SEEP_BY_LOST || c->budget->measure == SEEP_BUDGET_LEAKS;
}

static bool has(const struct seep_idtable *hashes, uint64_t hash)
{
	size_t at = SEEP_IDTABLE_START;

	return hashes->buckets && hash != 0 &&
	       seep_idtable_find(hashes, hash, &at) != SEEP_IDTABLE_NONE;
}

/* What goes with a leak is a part of it. */
static bool is_leak(const struct seep_profile *profile, const struct seep_profile_leak *leak)
{
	if (leak->verdict == SEEP_VERDICT_LOST_WITH && leak->root > 0 &&
	    leak->root <= profile->leak_count)
		return profile->leaks[leak->root - 1].verdict >= SEEP_VERDICT_LOST_WITH;
	return seep_verdict_is_leak(leak->verdict);
}

static bool is_growing(const struct seep_profile_context *context)
{
	return context->growth && context->growth->verdict == SEEP_GROWTH_GROWING;
}

static uint64_t value_of(const struct checker *c, const struct seep_profile_context *context)
{
	if (c->budget->measure < SEEP_MEASURE_COUNT)
		return (uint64_t)seep_context_value(context, c->budget->measure);
	return c->budget->measure == SEEP_BY_GROWTH && is_growing(context) &&
			       !(c->known && has(&c->known->growing, context->hash))
		       ? context->growth->bytes
		       : 0;
}

static void list(struct checker *c, const struct seep_budget_stack *stack)
{
	struct seep_budget_outcome *outcome = c->outcome;

	outcome->stacks = seep_xgrow(outcome->stacks, &c->capacity, outcome->stack_count + 1u,
				     sizeof(*stack));
	outcome->stacks[outcome->stack_count++] = *stack;
}

static void count_leaks(struct checker *c)
{
	for (uint32_t i = 0; i < c->profile->leak_count; i++) {
		const struct seep_profile_leak *leak = &c->profile->leaks[i];
		struct seep_budget_stack stack = { seep_profile_leak_context(c->profile, leak),
						   leak, leak->bytes, leak->blocks };
		const enum whether is = is_in_place(c, stack.context);
		uint64_t value;

		if (!is_leak(c->profile, leak) || is == NO ||
		    (c->known && has(&c->known->leaks, leak->hash)))
			continue;
		add(&stack.value, leak->with_bytes);
		add(&stack.blocks, leak->with_blocks);
		value = c->budget->measure == SEEP_BY_LOST ? stack.value : 1;
		add(is == YES ? &c->outcome->value : &c->unsure, value);
		if (is == YES)
			list(c, &stack);
	}
}

/* Stacks that a reader cannot tell apart are listed as one. */
static void count_contexts(struct checker *c)
{
	struct seep_groups *groups = seep_groups_new(c->sites, true, false);

	for (uint32_t i = 0; i < groups->count; i++) {
		uint32_t at = groups->items[i].context;
		struct seep_budget_stack stack = { .context = &c->profile->contexts[at] };

		for (uint32_t k = groups->items[i].context_count; k > 0;
		     k--, at = groups->next[at]) {
			const struct seep_profile_context *context = &c->profile->contexts[at];
			const struct seep_counts counts = seep_counts_of(context);
			const enum whether is = is_in_place(c, context);

			c->outcome->has_place |= is == YES;
			if (is == PERHAPS)
				add(&c->unsure, value_of(c, context));
			if (is != YES)
				continue;
			add(&stack.value, value_of(c, context));
			add(&stack.blocks,
			    (uint64_t)seep_counts_blocks(&counts, c->budget->measure));
		}
		add(&c->outcome->value, stack.value);
		if (stack.value > 0)
			list(c, &stack);
	}
	seep_groups_free(groups);
}

static uint64_t hash_of(const struct seep_budget_stack *stack)
{
	return stack->context ? stack->context->hash : 0;
}

static int by_value(const void *left, const void *right)
{
	const struct seep_budget_stack *a = left, *b = right;

	if (a->value != b->value)
		return a->value > b->value ? -1 : 1;
	return (hash_of(a) > hash_of(b)) - (hash_of(a) < hash_of(b));
}

static void measure(struct checker *c)
{
	find_place(c);
	count_contexts(c);
	if (is_of_leaks(c))
		count_leaks(c);
	if (c->budget->measure == SEEP_BY_PEAK)
		add(&c->unsure, c->profile->totals.peak_error_bytes);
	if (c->outcome->stack_count > 1)
		qsort(c->outcome->stacks, c->outcome->stack_count, sizeof(*c->outcome->stacks),
		      by_value);
	free(c->is_named);
}

/* ---- what is not known ----------------------------------------------------------------------- */

/* Codes of profile->unseen after which figures may be wrong: of a measure, or */
enum {
	OF_ALL = -1,
	OF_NOTHING = -2, /* where nothing was counted; else all is, though without stacks */
	OF_OTHERS = -3,	 /* other processes were not seen */
};

static const struct {
	const char *code;
	int of;
} doubts[] = {
	{ "ledger-damaged", OF_ALL },
	{ "ledger-cut", OF_ALL },
	{ "no-memory", OF_ALL },
	{ "own-allocator", OF_ALL },
	{ "bound-elsewhere", OF_ALL },
	{ "unaligned", OF_ALL },
	{ "page-map", OF_ALL },
	{ "in-doubt", OF_ALL },
	{ "ledger-full", OF_NOTHING },
	{ "ledger-refused", OF_NOTHING },
	{ "no-space", OF_NOTHING },
	{ "no-allocations", OF_NOTHING },
	{ "run-incomplete", OF_OTHERS },
	{ "unrecorded-child", OF_OTHERS },
	{ "exec-unrecorded", OF_OTHERS },
	{ "growth-full", SEEP_BY_GROWTH },
	{ "imported", SEEP_BY_TEMPORARY },
};

static const char *doubt_of(const struct checker *c, const struct seep_budget_plan *plan)
{
	const struct seep_profile *profile = c->profile;
	/* Many of a shell's commands allocate nothing. */
	const bool is_nothing = seep_profile_is_void(profile) ||
				(!plan->is_child && profile->totals.allocs == 0 &&
				 profile->totals.live_blocks == 0);

	for (size_t i = 0; i < sizeof(doubts) / sizeof(doubts[0]); i++)
		for (uint32_t k = 0; k < profile->unseen_count; k++)
			if (strcmp(profile->unseen[k].code, doubts[i].code) == 0 &&
			    (doubts[i].of == OF_ALL || doubts[i].of == (int)c->budget->measure ||
			     (doubts[i].of == OF_NOTHING && is_nothing) ||
			     (doubts[i].of == OF_OTHERS && !plan->is_alone)))
				return profile->unseen[k].detail;
	if (is_nothing)
		return "nothing was counted";
	return profile->totals.in_doubt > 0
		       ? "operations are counted in part: the process died, or "
			 "a signal handler left them"
		       : NULL;
}

/* Why the figure is not known, in new memory, or NULL. */
static char *unknown_of(const struct checker *c, const struct seep_budget_plan *plan)
{
	const struct seep_profile_totals *totals = &c->profile->totals;
	const char *reason = doubt_of(c, plan);

	if (is_of_leaks(c) && !c->profile->scan.done)
		return seep_xasprintf("not scanned for leaks: %s",
				      c->profile->scan.why_not ? c->profile->scan.why_not
							       : "no leak check was made");
	if (c->budget->measure == SEEP_BY_GROWTH && c->profile->growth_after_ns == 0)
		reason =
			"growth was not judged: the process was not watched for --growth-after, or "
			"not at all";
	if (c->budget->measure == SEEP_BY_PEAK && totals->peak_bytes < totals->live_bytes)
		reason = "the recording has no peak";
	if ((c->budget->measure == SEEP_BY_ALLOCS || c->budget->measure == SEEP_BY_TEMPORARY) &&
	    totals->allocs < totals->live_blocks)
		reason = "the recording has live blocks only";
	return reason ? seep_xstrdup(reason) : NULL;
}

/* ---- the outcome ----------------------------------------------------------------------------- */

const char *seep_budget_program(const struct seep_profile *profile)
{
	return profile->process.exe ? seep_path_base(profile->process.exe) : "";
}

/* The largest figure of the same program. Returns why that is not known, or NULL. */
static char *look_at_baseline(const struct checker *c, const struct seep_budget_plan *plan)
{
	char *reason = NULL, *whole;
	bool found = false;

	for (size_t i = 0; i < plan->baseline->count && !reason; i++) {
		const struct seep_budget_side *side = &plan->baseline->items[i];
		struct seep_budget_outcome outcome = { 0 };
		struct checker before = { .budget = c->budget,
					  .profile = side->profile,
					  .sites = side->sites,
					  .outcome = &outcome };

		if (strcmp(seep_budget_program(side->profile), seep_budget_program(c->profile)) !=
		    0)
			continue;
		measure(&before);
		reason = unknown_of(&before, plan);
		if (outcome.value > c->outcome->base)
			c->outcome->base = outcome.value;
		seep_budget_outcome_done(&outcome);
		found = true;
	}
	if (!found)
		return seep_xstrdup("the baseline has no recording of this program");
	if (!reason)
		return NULL;
	whole = seep_xasprintf("of the baseline: %s", reason);
	free(reason);
	return whole;
}

static void set_limit(const struct checker *c)
{
	const unsigned __int128 share = (unsigned __int128)c->outcome->base * c->budget->limit /
					1000000;

	c->outcome->limit = c->budget->limit;
	if (c->budget->is_share)
		c->outcome->limit = share > UINT64_MAX ? UINT64_MAX : (uint64_t)share;
	if (c->budget->is_relative)
		add(&c->outcome->limit, c->outcome->base);
}

static char *unsure_of(const struct checker *c)
{
	uint64_t most = c->outcome->value;

	add(&most, c->unsure);
	if (most <= c->outcome->limit)
		return NULL;
	return seep_xasprintf("%s more may belong to it: %s",
			      seep_budget_text(c->budget->measure, c->unsure).text,
			      c->budget->place
				      ? "call stacks that are not whole, or have functions "
					"without names"
				      : "the peak is not exact");
}

struct seep_budget_outcome seep_budget_check(const struct seep_budget *budget,
					     const struct seep_budget_side *side,
					     const struct seep_budget_plan *plan)
{
	struct seep_budget_outcome outcome = { 0 };
	struct checker c = {
		.budget = budget,
		.profile = side->profile,
		.sites = side->sites,
		/* What grew of known leaks shows in a limit that is relative to all of them. */
		.known = budget->is_relative ? NULL : plan->baseline,
		.outcome = &outcome,
	};

	measure(&c);
	if (budget->is_relative)
		outcome.reason = look_at_baseline(&c, plan);
	set_limit(&c);
	if (!outcome.reason && outcome.value > outcome.limit) {
		outcome.result = SEEP_BUDGET_BROKEN;
		return outcome;
	}
	if (!outcome.reason)
		outcome.reason = unknown_of(&c, plan);
	if (!outcome.reason)
		outcome.reason = unsure_of(&c);
	if (outcome.reason)
		outcome.result = SEEP_BUDGET_NOT_KNOWN;
	return outcome;
}

void seep_budget_outcome_done(struct seep_budget_outcome *outcome)
{
	free(outcome->reason);
	free(outcome->stacks);
}

void seep_budget_side_done(struct seep_budget_side *side)
{
	seep_sites_free(side->sites);
	seep_profile_free(side->profile);
	*side = (struct seep_budget_side){ 0 };
}

static void know(struct seep_idtable *hashes, uint64_t hash)
{
	if (!hashes->buckets)
		seep_idtable_init(hashes, 0);
	if (hash != 0 && !has(hashes, hash))
		seep_idtable_add(hashes, hash, 0);
}

void seep_baseline_take(struct seep_baseline *baseline, struct seep_budget_side side)
{
	const struct seep_profile *profile = side.profile;

	for (uint32_t i = 0; i < profile->leak_count; i++)
		if (is_leak(profile, &profile->leaks[i]))
			know(&baseline->leaks, profile->leaks[i].hash);
	for (uint32_t i = 0; i < profile->context_count; i++)
		if (is_growing(&profile->contexts[i]))
			know(&baseline->growing, profile->contexts[i].hash);
	baseline->items = seep_xgrow(baseline->items, &baseline->capacity, baseline->count + 1,
				     sizeof(*baseline->items));
	baseline->items[baseline->count++] = side;
}

void seep_baseline_done(struct seep_baseline *baseline)
{
	for (size_t i = 0; i < baseline->count; i++)
		seep_budget_side_done(&baseline->items[i]);
	free(baseline->items);
	seep_idtable_done(&baseline->leaks);
	seep_idtable_done(&baseline->growing);
	*baseline = (struct seep_baseline){ 0 };
}
