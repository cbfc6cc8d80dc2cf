/* SPDX-License-Identifier: MIT */
#include "export/heaptrack_plan.h"

#include <stdlib.h>

#include "analysis/counts.h"
#include "base/search.h"
#include "base/xalloc.h"
#include "core/bits.h"

/* Not less than 0, whatever a damaged recording says. */
static uint64_t less(uint64_t value, uint64_t what)
{
	return value > what ? value - what : 0;
}

struct sums {
	uint64_t count;
	uint64_t bytes;
};

/*
 * How many of the blocks at the peak are those at the end. Nobody knows: as many as can be, so that
 * enough others remain to be temporary. All of them can where the rest then has no bytes too few.
 */
static struct sums kept_of(struct sums peak, struct sums end, struct sums all)
{
	const struct sums fewer = { core_smaller(peak.count, end.count),
				    core_smaller(peak.bytes, end.bytes) };
	struct sums kept = { 0 };

	if (peak.count <= end.count && peak.bytes <= end.bytes &&
	    (peak.count < end.count || peak.bytes == end.bytes))
		return peak;
	if (end.count < peak.count && end.bytes <= peak.bytes)
		return end;
	if (fewer.count < 2)
		return kept;
	kept.count = fewer.count - 1;
	kept.bytes = less(peak.bytes + end.bytes, all.bytes);
	/* Others take up what bytes are allocated besides; without others there are none. */
	if (peak.count + end.count - kept.count < all.count &&
	    kept.bytes < fewer.bytes / fewer.count * kept.count)
		kept.bytes = fewer.bytes / fewer.count * kept.count;
	kept.bytes = core_smaller(kept.bytes, fewer.bytes);
	return kept;
}

/* Fewer of them, of the same bytes; or, where these do not matter, of the same size. */
static struct seep_plan_blocks blocks_of(struct sums sums, uint64_t divisor, bool same_size)
{
	struct seep_plan_blocks blocks = { .count = sums.count / divisor +
						    (sums.count % divisor > 0) };

	if (blocks.count == 0)
		return blocks;
	if (same_size) {
		blocks.size = sums.bytes / sums.count;
		blocks.larger_count = sums.bytes % sums.count / divisor;
	} else {
		blocks.size = sums.bytes / blocks.count;
		blocks.larger_count = sums.bytes % blocks.count;
	}
	return blocks;
}

static struct seep_plan plan_of(const struct seep_profile_context *context, uint64_t divisor)
{
	const struct seep_counts c = seep_counts_of(context);
	const struct sums peak = { (uint64_t)c.peak_blocks, (uint64_t)c.peak_bytes };
	const struct sums end = { (uint64_t)c.live_blocks, (uint64_t)c.live_bytes };
	const struct sums all = { (uint64_t)c.allocs, (uint64_t)c.alloc_bytes };
	const struct sums kept = kept_of(peak, end, all);
	const struct sums at_peak = { peak.count - kept.count, peak.bytes - kept.bytes };
	const struct sums at_end = { end.count - kept.count, end.bytes - kept.bytes };
	const struct sums passing = { less(all.count, peak.count + at_end.count),
				      less(all.bytes, peak.bytes + at_end.bytes) };
	struct seep_plan plan = { .first_ns = context->first_ns };

	plan.parts[SEEP_PLAN_KEPT] = blocks_of(kept, divisor, false);
	plan.parts[SEEP_PLAN_AT_PEAK] = blocks_of(at_peak, divisor, false);
	plan.parts[SEEP_PLAN_AT_END] = blocks_of(at_end, divisor, false);
	plan.parts[SEEP_PLAN_PASSING] = blocks_of(passing, divisor, true);
	plan.temporary = (uint64_t)c.temporary / divisor + ((uint64_t)c.temporary % divisor > 0);
	return plan;
}

static int first_seen_first(const void *a, const void *b)
{
	const struct seep_plan *x = a, *y = b;

	return seep_search_order(x->first_ns, y->first_ns)
		       ?: seep_search_order(x->context, y->context);
}

/*
 * A temporary block that was live at the peak was the last one there: one context at least can
 * have it so. Where several threads had one each, the others' become common ones.
 */
static void end_by_temporary(struct seep_plans *plans)
{
	for (uint32_t i = 0; i < plans->count; i++) {
		const struct seep_plan plan = plans->items[i];

		if (plan.temporary <= plan.parts[SEEP_PLAN_PASSING].count ||
		    plan.parts[SEEP_PLAN_AT_PEAK].count == 0)
			continue;
		plans->items[i] = plans->items[plans->count - 1];
		plans->items[plans->count - 1] = plan;
		plans->items[plans->count - 1].last_is_freed = true;
		return;
	}
}

/* One that is not temporary, else one whose bytes others of its part can take. */
static bool take_spare(struct seep_plan *plan)
{
	struct seep_plan_blocks *passing = &plan->parts[SEEP_PLAN_PASSING];

	if (passing->count > plan->temporary) {
		passing->count--;
		passing->larger_count -= passing->larger_count > passing->count;
		return true;
	}
	for (int part = 0; part < SEEP_PLAN_PASSING; part++) {
		const struct sums sums = { plan->parts[part].count - 1,
					   seep_plan_bytes(&plan->parts[part]) };

		if (plan->parts[part].count < 2)
			continue;
		plan->parts[part] = blocks_of(sums, 1, false);
		return true;
	}
	return false;
}

/* What passes must not reach the peak, for which it would be taken; its sizes give way. */
static void fit_passing(struct seep_plans *plans)
{
	uint64_t level = 0;

	for (uint32_t i = 0; i < plans->count; i++) {
		struct seep_plan *plan = &plans->items[i];
		struct seep_plan_blocks *passing = &plan->parts[SEEP_PLAN_PASSING];
		const uint64_t largest = passing->size + (passing->larger_count > 0);

		plan->early = largest >= less(plans->peak_bytes, level);
		if (plan->early && largest >= plans->peak_bytes) {
			passing->size = less(plans->peak_bytes, 1);
			passing->larger_count = 0;
		}
		plan->temporary = core_smaller(plan->temporary, passing->count);
		level += seep_plan_bytes(&plan->parts[SEEP_PLAN_KEPT]) +
			 seep_plan_bytes(&plan->parts[SEEP_PLAN_AT_PEAK]);
	}
}

void seep_plans_init(struct seep_plans *plans, const struct seep_profile *profile,
		     uint64_t allocs_max)
{
	unsigned __int128 all = 0;

	*plans = (struct seep_plans){ .count = profile->context_count };
	plans->items = seep_xcalloc(plans->count, sizeof(*plans->items));
	for (uint32_t i = 0; i < plans->count; i++) {
		const struct seep_plan plan = plan_of(&profile->contexts[i], 1);

		for (int part = 0; part < SEEP_PLAN_PARTS; part++)
			all += plan.parts[part].count;
	}
	plans->divisor = (uint64_t)(all / (allocs_max + 1)) + 1;
	for (uint32_t i = 0; i < plans->count; i++) {
		plans->items[i] = plan_of(&profile->contexts[i], plans->divisor);
		plans->items[i].context = i;
		plans->peak_bytes += seep_plan_bytes(&plans->items[i].parts[SEEP_PLAN_KEPT]) +
				     seep_plan_bytes(&plans->items[i].parts[SEEP_PLAN_AT_PEAK]);
	}
	qsort(plans->items, plans->count, sizeof(*plans->items), first_seen_first);
	end_by_temporary(plans);
	while (plans->spare < plans->count && !take_spare(&plans->items[plans->spare]))
		plans->spare++;
	fit_passing(plans);
}

void seep_plans_done(struct seep_plans *plans)
{
	free(plans->items);
}
