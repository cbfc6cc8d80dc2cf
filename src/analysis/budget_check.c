/* SPDX-License-Identifier: MIT */
#include "analysis/budget_check.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/group.h"
#include "analysis/keep.h"
#include "analysis/within.h"
#include "base/path.h"
#include "base/search.h"
#include "base/xalloc.h"
#include "core/bits.h"
#include "profile/counted.h"
#include "profile/estimate.h"
#include "profile/verdict.h"

/* A known leak grew if it has more than a tenth more, and more than this. */
enum { GROWN_BLOCKS = 1, GROWN_BYTES = 1024 };

/* One budget and one profile. */
struct checker {
	const struct seep_budget *budget;
	const struct seep_profile *profile;
	const struct seep_sites *sites;
	const struct seep_baseline *known; /* NULL: everything counts */
	bool is_blurred;		   /* which leaks are known is an estimate */
	unsigned char *in_place;	   /* of seep_within_frames(); NULL: all are */
	bool *in_tag;			   /* by scope, an index + 1; NULL: any is */
	uint64_t unsure;		   /* so much more may be of the place, or there */
	struct seep_budget_outcome *outcome;
};

static enum seep_whether is_in_place(const struct checker *c,
				     const struct seep_profile_context *context)
{
	if (c->budget->tag)
		return context && c->in_tag[context->scope] ? SEEP_YES : SEEP_NO;
	return c->in_place ? seep_within_stack(c->sites, c->in_place, context) : SEEP_YES;
}

static bool has_estimated_leaks(const struct seep_profile *profile)
{
	for (uint32_t i = 0; i < profile->leak_count; i++)
		if (profile->leaks[i].blocks_error || profile->leaks[i].bytes_error)
			return true;
	return false;
}

/* Tier "counts" gives a call's leaks to its stacks by a sample: other ones in each run. */
static bool is_blurred(const struct checker *c)
{
	bool is = c->known && has_estimated_leaks(c->profile);

	for (size_t i = 0; c->known && i < c->known->count; i++)
		is |= has_estimated_leaks(c->known->items[i].side.profile);
	return is;
}

/* ---- what counts ----------------------------------------------------------------------------- */

static bool is_of_leaks(const struct checker *c)
{
	return c->budget->measure == SEEP_BY_LOST || c->budget->measure == SEEP_BUDGET_LEAKS;
}

static bool has_grown(uint64_t known, uint64_t now, uint64_t least)
{
	return now > known && now - known > core_larger(known / 10, least);
}

/* What the baseline has of this hash: of several, the largest. 0: nothing. */
static void look_up(const struct seep_baseline *baseline, uint64_t hash,
		    struct seep_budget_stack *stack)
{
	for (size_t i = 0; i < baseline->count; i++) {
		const struct seep_leak_sum *sum = seep_leak_sums_find(&baseline->items[i].leaks,
								      hash);

		if (!sum)
			continue;
		stack->known_blocks = core_larger(stack->known_blocks, sum->blocks);
		stack->known_bytes = core_larger(stack->known_bytes, sum->bytes);
	}
}

/* Is it in the baseline, and did not grow? By its functions, all leaks of which are summed. */
static bool is_known(const struct checker *c, const struct seep_leak_sums *leaks,
		     struct seep_budget_stack *stack)
{
	const struct seep_leak_sum *now = seep_leak_sums_find(leaks, stack->leak->hash);

	if (!c->known || !now)
		return false;
	look_up(c->known, now->hash, stack);
	return stack->known_blocks > 0 &&
	       !has_grown(stack->known_blocks, now->blocks, GROWN_BLOCKS) &&
	       !has_grown(stack->known_bytes, now->bytes, GROWN_BYTES);
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
			       !(c->known && seep_baseline_has(&c->known->growing, context->hash))
		       ? context->growth->bytes
		       : 0;
}

static void count(struct checker *c, uint64_t value, const struct seep_budget_stack *stack)
{
	core_add(&c->outcome->value, value);
	c->outcome->grown_count += stack->known_blocks > 0;
	*SEEP_APPEND(c->outcome->stacks, c->outcome->stack_count) = *stack;
}

/* What goes with a leak is a part of it, but where only its own bytes are asked for. */
static bool is_counted(const struct checker *c, const struct seep_profile_leak *leak)
{
	const struct seep_profile_leak *root = seep_leak_root(c->profile, leak);

	if (root == leak || !root || !c->budget->is_part)
		return root == leak;
	return c->budget->measure == SEEP_BY_LOST ||
	       is_in_place(c, seep_profile_context_at(c->profile, root->context)) != SEEP_YES;
}

static void count_leaks(struct checker *c)
{
	SEEP_RELEASED(seep_leak_sums_done) struct seep_leak_sums leaks;

	seep_leak_sums_init(&leaks, c->profile);
	for (uint32_t i = 0; i < c->profile->leak_count; i++) {
		const struct seep_profile_leak *leak = &c->profile->leaks[i];
		struct seep_budget_stack stack = {
			.context = seep_profile_context_at(c->profile, leak->context),
			.leak = leak,
			.value = leak->bytes,
		};
		const enum seep_whether is = is_in_place(c, stack.context);
		uint64_t value;

		if (!is_counted(c, leak) || is_known(c, &leaks, &stack))
			continue;
		stack.counts.live_blocks = (int64_t)core_smaller(leak->blocks, INT64_MAX);
		if (!c->budget->is_part) {
			core_add(&stack.value, leak->with_bytes);
			seep_counts_sum(&stack.counts.live_blocks,
					(int64_t)core_smaller(leak->with_blocks, INT64_MAX));
		}
		stack.counts.live_bytes = (int64_t)core_smaller(stack.value, INT64_MAX);
		seep_counts_set_errors(&stack.counts, leak->blocks_error, leak->bytes_error);
		value = c->budget->measure == SEEP_BY_LOST ? stack.value : 1;
		/* What was met after the ledger was full may be of as many call stacks as blocks. */
		if (c->budget->measure == SEEP_BUDGET_LEAKS && is != SEEP_NO && stack.context &&
		    stack.context->other)
			core_add(&c->unsure, leak->blocks - 1);
		if (is == SEEP_YES && !c->is_blurred)
			count(c, value, &stack);
		else if (is != SEEP_NO)
			core_add(&c->unsure, value);
	}
}

/* Where it was made or where its block is from: who is to blame may stand in either. */
static enum seep_whether is_finding_in_place(const struct checker *c,
					     const struct seep_profile_finding *finding)
{
	const enum seep_whether here =
		is_in_place(c, seep_profile_context_at(c->profile, finding->here));
	const struct seep_profile_context *from = seep_profile_context_at(c->profile,
									  finding->block);
	const enum seep_whether block = from ? is_in_place(c, from) : SEEP_NO;

	return here == SEEP_YES || block == SEEP_YES ? SEEP_YES : here == SEEP_NO ? block : here;
}

static void count_findings(struct checker *c)
{
	for (uint32_t i = 0; i < c->profile->finding_count; i++) {
		const struct seep_profile_finding *finding = &c->profile->findings[i];
		const struct seep_budget_stack stack = {
			.context = seep_profile_context_at(c->profile, finding->here),
			.finding = finding,
			.value = finding->count,
		};
		const enum seep_whether is = is_finding_in_place(c, finding);

		if (finding->suppressed_by ||
		    (c->known && seep_baseline_has(&c->known->findings, finding->hash)))
			continue;
		if (is == SEEP_YES)
			count(c, 1, &stack);
		else if (is == SEEP_PERHAPS)
			core_add(&c->unsure, 1);
	}
}

/* Contexts that a reader cannot tell apart are one call stack. */
static void count_contexts(struct checker *c)
{
	SEEP_RELEASED(seep_groups_free_at)
	struct seep_groups *groups = seep_groups_new(c->sites, true, false);

	for (uint32_t i = 0; i < groups->count; i++) {
		struct seep_budget_stack stack = { 0 };
		uint32_t at = groups->items[i].context;

		stack.context = &c->profile->contexts[at];
		for (uint32_t k = 0; k < groups->items[i].context_count; k++) {
			const struct seep_profile_context *context = &c->profile->contexts[at];
			const enum seep_whether is = is_in_place(c, context);

			c->outcome->has_place |= is == SEEP_YES;
			if (is != SEEP_NO)
				core_add(is == SEEP_YES ? &stack.value : &c->unsure,
					 value_of(c, context));
			if (is == SEEP_YES)
				seep_counts_add_context(&stack.counts, context);
			at = groups->next[at];
		}
		if (stack.value > 0)
			count(c, stack.value, &stack);
	}
}

/* The figure behind what is measured; -1: none, that is counted one by one. */
static int figure_behind(const struct checker *c)
{
	static const int figures[SEEP_MEASURE_COUNT] = {
		[SEEP_BY_LIVE] = SEEP_FIGURE_live_bytes,
		[SEEP_BY_PEAK] = SEEP_FIGURE_peak_bytes,
		[SEEP_BY_ALLOCS] = SEEP_FIGURE_allocs,
		[SEEP_BY_TEMPORARY] = SEEP_FIGURE_temporary,
	};

	if (c->budget->measure == SEEP_BY_GROWTH)
		return SEEP_FIGURE_live_bytes;
	return c->budget->measure < SEEP_MEASURE_COUNT ? figures[c->budget->measure] : -1;
}

uint64_t seep_budget_stack_error(const struct seep_budget_stack *stack)
{
	return core_larger(seep_counts_figure_error(&stack->counts, SEEP_FIGURE_live_bytes),
			   seep_counts_figure_error(&stack->counts, SEEP_FIGURE_peak_bytes));
}

/* How far off it may be. Of all together more is exact than of its parts. */
static void measure_error(struct checker *c)
{
	const struct seep_profile_totals *totals = &c->profile->totals;
	const bool is_all = !c->in_place && !c->in_tag;
	const int figure = figure_behind(c);
	struct seep_counts all = { 0 }, sums = { 0 };

	if (c->budget->measure == SEEP_BY_GROWTH || (c->budget->measure == SEEP_BY_LOST && !is_all))
		for (uint32_t i = 0; i < c->outcome->stack_count; i++)
			c->outcome->error = seep_error_join(
				c->outcome->error, seep_budget_stack_error(&c->outcome->stacks[i]));
	if (figure < 0 || c->budget->measure == SEEP_BY_GROWTH)
		return;
	for (uint32_t i = 0; i < c->profile->context_count; i++) {
		seep_counts_add_context(&all, &c->profile->contexts[i]);
		if (is_in_place(c, &c->profile->contexts[i]) == SEEP_YES)
			seep_counts_add_context(&sums, &c->profile->contexts[i]);
	}
	c->outcome->error = is_all ? totals->errors[figure]
				   : seep_counts_part_error(&sums, &all, totals->errors[figure],
							    figure);
	if (is_all && figure == SEEP_FIGURE_allocs && c->profile->process.tiers &&
	    seep_profile_knows(c->profile, "counted_allocs")) {
		c->outcome->value = totals->counted_allocs;
		c->outcome->error = 0;
	}
}

static uint64_t hash_of(const struct seep_budget_stack *stack)
{
	return stack->context ? stack->context->hash : 0;
}

static int by_value(const void *left, const void *right)
{
	const struct seep_budget_stack *a = left, *b = right;

	return seep_search_order(b->value, a->value) ?: seep_search_order(hash_of(a), hash_of(b));
}

static void measure(struct checker *c)
{
	if (c->budget->within)
		c->in_place = seep_within_frames(
			c->sites, (const char *const[]){ c->budget->within }, 1, NULL);
	if (c->budget->tag)
		c->in_tag = seep_keep_of_scope(
			c->profile,
			&(struct seep_keep_globs){ (const char *const[]){ c->budget->tag }, 1 });
	count_contexts(c);
	if (is_of_leaks(c))
		count_leaks(c);
	if (c->budget->measure == SEEP_BUDGET_FINDINGS)
		count_findings(c);
	if (c->budget->measure == SEEP_BY_PEAK)
		core_add(&c->unsure, c->profile->totals.peak_error_bytes);
	if (c->outcome->stack_count > 1)
		qsort(c->outcome->stacks, c->outcome->stack_count, sizeof(*c->outcome->stacks),
		      by_value);
	measure_error(c);
	free(c->in_place);
	free(c->in_tag);
}

/* ---- what is not known ----------------------------------------------------------------------- */

/* What profile->unseen says of the first of the codes that it has; NULL: it has none. */
static const char *told(const struct seep_profile *profile, const char *const *codes)
{
	for (; *codes; codes++)
		for (uint32_t i = 0; i < profile->unseen_count; i++)
			if (strcmp(profile->unseen[i].code, *codes) == 0)
				return profile->unseen[i].detail;
	return NULL;
}

/* Why figures may be wrong, or NULL. */
static const char *doubt_of(const struct checker *c, const struct seep_budget_plan *plan)
{
	static const char *const wrong[] = { "ledger-cut", "no-memory", "own-allocator",
					     "unaligned",  "page-map",	"bound-elsewhere",
					     "in-doubt",   NULL };
	/* Else all is counted, though without stacks. */
	static const char *const nothing[] = { "ledger-full", "ledger-refused", "no-space",
					       "no-allocations", NULL };
	static const char *const others[] = { "run-incomplete", "unrecorded-child",
					      "exec-unrecorded", NULL };
	/* What an importer could not know, too. */
	static const char *const of_measure[SEEP_BUDGET_MEASURE_COUNT][2] = {
		[SEEP_BY_LIVE] = { "no-live" },
		[SEEP_BY_PEAK] = { "one-moment" },
		[SEEP_BY_ALLOCS] = { "no-frees" },
		[SEEP_BY_TEMPORARY] = { "one-moment" },
		[SEEP_BY_GROWTH] = { "growth-full" },
		[SEEP_BUDGET_FINDINGS] = { "findings-full", "sampled" },
	};
	static const char *const modes[] = { "mode-changed", "scoped", NULL };
	static const char *const tags[] = { "mode-changed", "scope-tags",  "scope-entries",
					    "ledger-full",  "caches-full", NULL };
	const struct seep_profile_totals *totals = &c->profile->totals;
	const char *why = told(c->profile, wrong);

	if (!why)
		why = told(c->profile, c->budget->tag ? tags : modes);
	if (!why && !plan->is_alone)
		why = told(c->profile, others);
	if (!why)
		why = told(c->profile, of_measure[c->budget->measure]);
	/* Many of a shell's commands allocate nothing. */
	if (!why && (seep_profile_is_void(c->profile) ||
		     (!plan->is_child && seep_profile_counted(c->profile).allocs == 0 &&
		      totals->live_blocks == 0))) {
		why = told(c->profile, nothing);
		return why ? why : "nothing was counted";
	}
	if (!why && totals->in_doubt > 0)
		why = "operations are counted in part: the process died, or a signal handler left "
		      "them";
	return why;
}

/* 0; or why nothing can be said at all, for or against. */
static int find_damage(const struct seep_profile *profile, struct seep_error *why)
{
	static const char *const codes[] = { SEEP_UNSEEN_DAMAGED, NULL };
	const char *damage = told(profile, codes);

	return damage ? seep_fail(why, SEEP_ENOTFOUND, "%s", damage) : 0;
}

/* 0; or why the figure is not known. */
static int find_unknown(const struct checker *c, const struct seep_budget_plan *plan,
			struct seep_error *why)
{
	const struct seep_profile_totals *totals = &c->profile->totals;
	const unsigned what = c->budget->measure;
	const char *reason = doubt_of(c, plan);

	if (is_of_leaks(c) && !c->profile->scan.done)
		return seep_fail(why, SEEP_ENOTFOUND, "not scanned for leaks: %s",
				 seep_profile_not_scanned(c->profile));
	if (what == SEEP_BY_GROWTH && c->profile->growth_after_ns == 0)
		reason =
			"growth was not judged: the process was not watched for --growth-after, or "
			"not at all";
	if (what == SEEP_BUDGET_FINDINGS && !c->profile->knows_findings)
		reason = "who recorded it did not look for them";
	if (what == SEEP_BY_PEAK && (totals->peak_bytes < totals->live_bytes ||
				     (totals->peak_bytes == 0 && totals->alloc_bytes > 0)))
		reason = "the recording has no peak";
	if ((what == SEEP_BY_ALLOCS || what == SEEP_BY_TEMPORARY) &&
	    totals->allocs < totals->live_blocks)
		reason = "the recording has live blocks only";
	return reason ? seep_fail(why, SEEP_ENOTFOUND, "%s", reason) : 0;
}

/* ---- the outcome ----------------------------------------------------------------------------- */

const char *seep_budget_program(const struct seep_profile *profile)
{
	return profile->process.exe ? seep_path_base(profile->process.exe) : "";
}

static struct seep_baseline_figure figure_of(const struct checker *before,
					     struct seep_baseline_item *item)
{
	SEEP_RELEASED(seep_budget_outcome_done) struct seep_budget_outcome outcome = { 0 };
	struct checker c = *before;

	for (size_t i = 0; i < item->figure_count; i++)
		if (strcmp(item->figures[i].budget, before->budget->text) == 0)
			return item->figures[i];
	c.outcome = &outcome;
	measure(&c);
	*SEEP_APPEND(item->figures, item->figure_count) = (struct seep_baseline_figure){
		.budget = seep_xstrdup(before->budget->text),
		.value = outcome.value,
		.error = outcome.error,
	};
	return item->figures[item->figure_count - 1];
}

/* The largest figure of the same program: 0, or why that is not known. */
static int look_at_baseline(const struct checker *c, const struct seep_budget_plan *plan,
			    struct seep_error *why)
{
	const char *program = seep_budget_program(c->profile);
	bool found = false;

	for (size_t i = 0; i < plan->baseline->count; i++) {
		struct seep_baseline_item *item = &plan->baseline->items[i];
		const struct checker before = { .budget = c->budget,
						.profile = item->side.profile,
						.sites = item->side.sites };
		struct seep_baseline_figure figure;

		if (strcmp(seep_budget_program(before.profile), program) != 0)
			continue;
		found = true;
		if (find_damage(before.profile, why) < 0 || find_unknown(&before, plan, why) < 0) {
			seep_error_prefix(why, "of the baseline");
			return -SEEP_ENOTFOUND;
		}
		figure = figure_of(&before, item);
		if (figure.error && !plan->widens)
			return seep_fail(why, SEEP_ENOTFOUND,
					 "the baseline is an estimate, %s ±%s; --estimates widen "
					 "judges it with its error",
					 seep_budget_text(c->budget->measure, figure.value).text,
					 seep_budget_text(c->budget->measure, figure.error).text);
		c->outcome->error = seep_error_join(c->outcome->error, figure.error);
		c->outcome->base = core_larger(c->outcome->base, figure.value);
	}
	return found ? 0
		     : seep_fail(why, SEEP_ENOTFOUND,
				 "the baseline has no recording of this program");
}

static uint64_t limit_of(const struct seep_budget *budget, uint64_t base)
{
	const unsigned __int128 share = (unsigned __int128)base * budget->limit / 1000000;
	uint64_t limit = budget->limit;

	if (budget->is_share)
		limit = share > UINT64_MAX ? UINT64_MAX : (uint64_t)share;
	core_add(&limit, base);
	return limit;
}

/* What may be of the place as well, or passes for the peak's error, could break the budget. */
static int find_unsure(const struct checker *c, struct seep_error *why)
{
	uint64_t most = c->outcome->value - core_smaller(c->outcome->error, c->outcome->value);

	core_add(&most, c->unsure);
	if (most <= c->outcome->limit)
		return 0;
	if (c->is_blurred && is_of_leaks(c))
		return seep_fail(
			why, SEEP_ENOTFOUND,
			"%s may be new: tier counts gives leaks to call stacks by a sample; "
			"--estimates widen judges them as they are",
			seep_budget_text(c->budget->measure, c->unsure).text);
	return seep_fail(why, SEEP_ENOTFOUND, "%s more may belong to it: %s",
			 seep_budget_text(c->budget->measure, c->unsure).text,
			 c->budget->within ? "call stacks that are not whole, or have functions "
					     "without names"
			 : is_of_leaks(c) ? "the ledger was full, and call stacks after that count "
					    "as one"
					  : "the peak is not exact");
}

static bool has_estimates(const struct seep_profile *profile)
{
	for (uint32_t i = 0; i < profile->context_count; i++)
		if (profile->contexts[i].errors)
			return true;
	return false;
}

/* Of a place that no sample was taken of nothing is known. Tier "counts" has of each scope what is exact. */
static bool is_unsampled(const struct checker *c)
{
	const bool is_sampled = seep_profile_says(c->profile, SEEP_UNSEEN_SAMPLED);

	if (c->outcome->value > 0 || (figure_behind(c) < 0 && !is_of_leaks(c)))
		return false;
	return c->budget->within ? is_sampled || has_estimates(c->profile)
				 : c->budget->tag && is_sampled;
}

static int find_estimate(const struct checker *c, struct seep_error *why)
{
	if (c->outcome->error == 0 && is_unsampled(c))
		return seep_fail(why, SEEP_ENOTFOUND,
				 "no sample was taken of it; --estimates widen takes it for 0");
	if (c->outcome->error == 0)
		return 0;
	return seep_fail(why, SEEP_ENOTFOUND,
			 "it is an estimate, %s ±%s; --estimates widen judges it with its error",
			 seep_budget_text(c->budget->measure, c->outcome->value).text,
			 seep_budget_text(c->budget->measure, c->outcome->error).text);
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
		/* A limit that is relative to all of them compares all. */
		.known = budget->is_relative ? NULL : plan->baseline,
		.outcome = &outcome,
	};
	int rc = find_damage(side->profile, &outcome.why);

	c.is_blurred = !plan->widens && is_blurred(&c);
	if (rc == 0)
		measure(&c);
	if (rc == 0 && budget->is_relative)
		rc = look_at_baseline(&c, plan, &outcome.why);
	outcome.limit = limit_of(budget, outcome.base);
	/* What is not known at all is the better reason. */
	if (rc == 0 && !plan->widens && (rc = find_estimate(&c, &outcome.why)) < 0)
		(void)!find_unknown(&c, plan, &outcome.why);
	if (rc == 0 && outcome.value > outcome.limit &&
	    outcome.value - outcome.limit > outcome.error) {
		outcome.result = SEEP_BUDGET_BROKEN;
		return outcome;
	}
	if (rc == 0)
		rc = find_unknown(&c, plan, &outcome.why);
	if (rc == 0)
		rc = find_unsure(&c, &outcome.why);
	if (rc < 0)
		outcome.result = SEEP_BUDGET_NOT_KNOWN;
	return outcome;
}

void seep_budget_outcome_done(struct seep_budget_outcome *outcome)
{
	free(outcome->stacks);
}
