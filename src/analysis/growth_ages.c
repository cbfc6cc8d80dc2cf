/* SPDX-License-Identifier: MIT */
#include "analysis/growth_ages.h"

#include "analysis/growth.h"
#include "base/xalloc.h"
#include "core/bits.h"
#include "profile/estimate.h"

enum {
	LEAST_ALLOCS = 100,
	STALE_FREED_PERCENT = 90, /* of its blocks a context usually frees, at least */
	STALE_LIVES = 20,	  /* a block is stale after so many times the usual life */
	RAISE_TIMES = 2,	  /* the age at which stale blocks were freed after all */
	COHORTS = 2,		  /* of which as much is left */
	COHORT_PERCENT = 250,	  /* of the least that is left of one, at most */
	COHORT_LIVES = 4,	  /* a block has stayed after so many times the usual life */
	COHORT_LENGTH = 2,  /* times the usual life, at least: of what goes at random few stay */
	COHORT_BLOCKS = 6,  /* of each, at least */
	STAYS_PERCENT = 80, /* of old blocks are left, at least, */
	STAYS_SHARE = 3,    /* for 1/3 of their age */
};

struct reading {
	const struct seep_profile *profile;
	uint64_t after_ns;
	uint64_t now_ns;
};

uint64_t seep_epoch_start_ns(const struct seep_profile *profile, uint32_t epoch)
{
	uint32_t low = 0, high = profile->mark_count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (profile->marks[middle].epoch < epoch)
			low = middle + 1;
		else
			high = middle;
	}
	if (epoch == 0)
		return profile->process.start_ns;
	return low < profile->mark_count ? profile->marks[low].at_ns : UINT64_MAX;
}

uint64_t seep_growth_error(const struct seep_profile_context *context)
{
	const uint64_t error = context->errors ? context->errors[SEEP_FIGURE_live_bytes] : 0;

	return seep_error_join(error, error);
}

/* Little's law: blocks in use = rate * time that each is in use. */
static uint64_t usual_life_ns(const struct reading *now, const struct seep_profile_context *context,
			      uint64_t old_blocks)
{
	const uint64_t start_ns = core_larger(context->first_ns, now->profile->process.start_ns);
	const uint64_t lived_ns = now->now_ns > start_ns ? now->now_ns - start_ns : 0;
	const uint64_t blocks = context->live_blocks - old_blocks;
	const double life_ns = (double)lived_ns / (double)context->allocs * (double)(blocks + 1);

	/* Not beyond what it has lived, whatever the figures of a damaged ledger. */
	return life_ns < (double)lived_ns ? (uint64_t)life_ns : lived_ns;
}

/* Those that are older than @age_ns, by the epochs that were over then. */
static struct seep_growth_old count_old(const struct reading *now,
					const struct seep_profile_context *context, uint64_t age_ns)
{
	struct seep_growth_old old = { .until_ns = now->now_ns };

	for (uint32_t i = 0; i < context->epoch_count; i++) {
		const struct seep_profile_epoch *epoch = &context->epochs[i];
		uint64_t over_ns = seep_epoch_start_ns(now->profile, epoch->epoch + 1);

		if (epoch->blocks == 0)
			continue;
		if (over_ns >= now->now_ns || now->now_ns - over_ns < age_ns)
			break;
		old.last_epoch = epoch->epoch;
		old.blocks += epoch->blocks;
		old.bytes += epoch->bytes;
		old.since_ns = over_ns;
	}
	return old;
}

/* Of what was old once, how many blocks are still there. */
static uint64_t count_left(const struct seep_growth_old *old,
			   const struct seep_profile_context *context)
{
	uint64_t left = 0;

	for (uint32_t i = 0; i < context->epoch_count; i++)
		if (context->epochs[i].epoch <= old->last_epoch)
			left += context->epochs[i].blocks;
	return left;
}

static void observe_stale(const struct reading *now, const struct seep_profile_context *context,
			  struct seep_growth_ages *ages)
{
	const uint64_t left = count_left(&ages->stale, context);
	const bool is_idle = context->allocs == ages->allocs;

	ages->allocs = context->allocs;
	/* What a stopped program, or one without work, has in hand is as old as its rest. */
	if (is_idle && left == ages->stale.blocks)
		return;
	if (left < ages->stale.blocks) {
		ages->freed_late += ages->stale.blocks - left;
		ages->stale_age_ns = RAISE_TIMES * (now->now_ns - ages->stale.since_ns);
	}
	ages->stale = count_old(now, context, ages->stale_age_ns);
	if (ages->stale.blocks > 0 &&
	    now->now_ns - ages->stale.since_ns <
		    STALE_LIVES * usual_life_ns(now, context, ages->stale.blocks))
		ages->stale = (struct seep_growth_old){ 0 };
}

/* A block of @context that is older is likely to stay. */
static uint64_t staying_age_ns(const struct reading *now, uint64_t life_ns)
{
	return core_larger(now->after_ns / 2, COHORT_LIVES * life_ns);
}

/*
 * Do old blocks, but for the newest of them, stay? Where lives differ widely some are always left
 * of each cohort, but ever fewer.
 */
static bool they_stay(const struct reading *now, const struct seep_profile_context *context,
		      struct seep_growth_ages *ages, uint64_t life_ns)
{
	const struct seep_growth_old old = count_old(now, context, staying_age_ns(now, life_ns));
	struct seep_growth_old *before = &ages->old[0], *newest = &ages->old[1];

	if (old.last_epoch > newest->last_epoch) {
		*before = *newest;
		*newest = old;
		/* Who comes late has not seen it otherwise. */
		newest->until_ns = before->blocks ? now->now_ns : 0;
	}
	for (struct seep_growth_old *one = before; one <= newest; one++) {
		const uint64_t left = count_left(one, context);

		if (left * 100 < one->blocks * STAYS_PERCENT) {
			one->blocks = left;
			one->until_ns = now->now_ns;
		}
	}
	return (now->now_ns - before->until_ns) * STAYS_SHARE >= now->now_ns - before->since_ns;
}

/*
 * The cohorts before now, newest first: epochs, together where they are short, and older ones where little is
 * left of them. As long as each has left about as much for its length as the others, they count.
 */
static uint32_t count_cohorts(const struct reading *now, const struct seep_profile_context *context,
			      uint64_t life_ns, struct seep_growth_old *all)
{
	const struct seep_profile *profile = now->profile;
	const uint64_t age_ns = staying_age_ns(now, life_ns);
	const uint64_t length_ns = core_larger(now->after_ns / 2, COHORT_LENGTH * life_ns);
	double least = 0, most = 0;
	struct seep_growth_old one = { 0 };
	uint32_t count = 0, at = context->epoch_count;
	uint64_t over_ns = UINT64_MAX;

	*all = (struct seep_growth_old){ 0 };
	for (uint32_t mark = profile->mark_count + 1; mark-- > 0;) {
		const uint32_t number = mark ? profile->marks[mark - 1].epoch : 0;
		const uint64_t began_ns = mark ? profile->marks[mark - 1].at_ns
					       : profile->process.start_ns;
		const uint64_t ended_ns = over_ns;
		double rate;

		over_ns = began_ns;
		while (at > 0 && context->epochs[at - 1].epoch > number)
			at--;
		if (ended_ns > now->now_ns || now->now_ns - ended_ns < age_ns)
			continue;
		if (one.until_ns == 0)
			one.until_ns = ended_ns;
		if (all->until_ns == 0)
			all->until_ns = ended_ns;
		if (at > 0 && context->epochs[at - 1].epoch == number) {
			one.blocks += context->epochs[at - 1].blocks;
			one.bytes += context->epochs[at - 1].bytes;
		}
		one.since_ns = core_larger(began_ns, context->first_ns);
		if (one.until_ns <= one.since_ns || one.until_ns - one.since_ns < length_ns ||
		    (count > 0 && one.blocks < COHORT_BLOCKS))
			continue;
		rate = (double)one.blocks / (double)(one.until_ns - one.since_ns);
		least = count ? (rate < least ? rate : least) : rate;
		most = rate > most ? rate : most;
		if (one.blocks < COHORT_BLOCKS || most * 100 > least * COHORT_PERCENT)
			break;
		all->bytes += one.bytes;
		all->since_ns = one.since_ns;
		one = (struct seep_growth_old){ 0 };
		count++;
	}
	return count;
}

static void observe_cohorts(const struct reading *now, const struct seep_profile_context *context,
			    struct seep_growth_ages *ages)
{
	const struct seep_growth_old young = count_old(now, context, now->after_ns / 2);
	const uint64_t life_ns = usual_life_ns(now, context, young.blocks);
	const bool was_growing = ages->growing, stay = they_stay(now, context, ages, life_ns);
	struct seep_growth_old found;

	ages->growing = stay && context->frees >= context->allocs / 2 &&
			count_cohorts(now, context, life_ns, &found) >= COHORTS &&
			found.bytes > seep_growth_error(context);
	if (ages->growing) {
		ages->cohorts = found;
		ages->live_blocks = context->live_blocks;
	}
	ages->returned = !ages->growing && (was_growing || ages->returned) &&
			 context->live_blocks < ages->live_blocks / 2;
}

void seep_growth_ages_add(struct seep_growth_ages **ages, const struct seep_profile *profile,
			  const struct seep_profile_context *context, uint64_t after_ns,
			  uint64_t now_ns)
{
	const struct reading now = { profile, after_ns, now_ns };

	if (!*ages) {
		if (context->allocs < LEAST_ALLOCS || context->epoch_count < 2 ||
		    context->frees < context->allocs / 2)
			return;
		*ages = seep_xcalloc(1, sizeof(**ages));
		(*ages)->stale_age_ns = after_ns * SEEP_GROWTH_STALE_TIMES;
	}
	if ((*ages)->stale.blocks > 0 ||
	    context->frees * 100 >= context->allocs * STALE_FREED_PERCENT)
		observe_stale(&now, context, *ages);
	observe_cohorts(&now, context, *ages);
}
