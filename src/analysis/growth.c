/* SPDX-License-Identifier: MIT */
#include "analysis/growth.h"

#include "analysis/growth_ages.h"
#include "analysis/growth_series.h"
#include "analysis/growth_text.h"
#include "base/xalloc.h"
#include "core/bits.h"

#include <stdlib.h>

enum {
	CONFIDENCE_MEDIUM = 3, /* times after_ns */
	CONFIDENCE_HIGH = 10,
	TRACKS_MAX = 100000, /* 110 MB */
	FAMILY_MAX = 16,     /* contexts; more have too little to do with one another */
};

#define GROWING_WEIGHT (INT64_C(1) << 62)
#define STALE_WEIGHT (INT64_C(1) << 61)

/*
 * Contexts with one innermost frame, which allocates for several callers. Where it keeps what it
 * has, but the blocks of one caller take the place of another's, none of them grows.
 */
struct family {
	uint32_t contexts;
	bool in_doubt;	   /* this reading of one of them */
	uint64_t first_ns; /* of its series */
	uint64_t bytes;
	uint64_t blocks;
	struct seep_growth_series *series; /* NULL: it has one context, or too many */
};

/* Of a context whose live bytes have changed since it was seen first. */
struct track {
	struct seep_growth_series series;
	uint64_t recent[SEEP_GROWTH_RECENT]; /* a ring */
};

struct seen {
	struct track *track;
	struct seep_growth_ages *ages;
	uint32_t family;     /* index + 1; 0: it has no stack */
	uint64_t live_bytes; /* as read last */
	uint32_t heard;	     /* item of the list + 1; 0: it is not in that */
	bool told;	     /* that it grows */
};

struct seep_growth {
	uint64_t after_ns;
	uint64_t first_ns;
	uint64_t now_ns;
	uint64_t before_ns; /* the reading before the last */
	uint64_t next_ages_ns;
	uint32_t readings;
	bool damaged;	   /* the ledger is: nothing is said */
	struct seen *seen; /* by context id */
	uint32_t count;
	uint32_t track_count;
	struct family *families;
	uint32_t family_count;
	uint32_t *family_of; /* by frame; index + 1 */
	uint32_t frame_count;
	struct seep_growth_list heard; /* of the recorder; after_ns 0: nothing */
};

struct seep_growth *seep_growth_new(uint64_t after_ns)
{
	struct seep_growth *growth = seep_xcalloc(1, sizeof(*growth));

	growth->after_ns = after_ns ? after_ns : SEEP_GROWTH_AFTER_NS;
	return growth;
}

void seep_growth_free(struct seep_growth *growth)
{
	if (!growth)
		return;
	for (uint32_t i = 0; i < growth->count; i++) {
		free(growth->seen[i].track);
		free(growth->seen[i].ages);
	}
	free(growth->seen);
	for (uint32_t i = 0; i < growth->family_count; i++)
		free(growth->families[i].series);
	free(growth->families);
	free(growth->family_of);
	seep_growth_list_done(&growth->heard);
	free(growth);
}

static void make_room(struct seep_growth *growth, const struct seep_profile *profile)
{
	uint32_t wanted = growth->count;

	for (uint32_t i = 0; i < profile->context_count; i++)
		if (profile->contexts[i].id >= wanted)
			wanted = profile->contexts[i].id + 1;
	if (wanted == growth->count)
		return;
	wanted += wanted / 2;
	growth->seen = seep_xextend(growth->seen, growth->count, wanted, sizeof(*growth->seen));
	growth->count = wanted;
}

/* Up to now it had the same all the time, and @before_bytes when it was read last. */
static struct track *begin_track(struct seep_growth *growth,
				 const struct seep_profile_context *context, uint64_t before_bytes)
{
	struct track *track = seep_xcalloc(1, sizeof(*track));

	for (int i = 0; i < SEEP_GROWTH_RECENT; i++)
		track->recent[i] = before_bytes;
	seep_growth_series_add(&track->series, growth->after_ns, growth->before_ns, before_bytes,
			       context->live_blocks);
	growth->track_count++;
	return growth->seen[context->id].track = track;
}

static void observe_bytes(struct seep_growth *growth, const struct seep_profile_context *context)
{
	struct seen *seen = &growth->seen[context->id];
	struct track *track = seen->track;

	if (!track && growth->readings > 0 && context->live_bytes != seen->live_bytes &&
	    growth->track_count < TRACKS_MAX)
		track = begin_track(growth, context, seen->live_bytes);
	seen->live_bytes = context->live_bytes;
	if (!track)
		return;
	track->recent[growth->readings % SEEP_GROWTH_RECENT] = context->live_bytes;
	track->series.error = seep_growth_error(context);
	if (!context->in_doubt)
		seep_growth_series_add(&track->series, growth->after_ns, growth->now_ns,
				       context->live_bytes, context->live_blocks);
}

/* The family of a context that is seen for the first time. */
static uint32_t join_family(struct seep_growth *growth, const struct seep_profile *profile,
			    const struct seep_profile_context *context)
{
	uint32_t frame;

	if (context->stack_count == 0)
		return 0;
	frame = context->stack[0].frame;
	if (frame >= growth->frame_count) {
		const uint32_t wanted = profile->frame_count + profile->frame_count / 2 + 1;

		growth->family_of = seep_xextend(growth->family_of, growth->frame_count, wanted,
						 sizeof(*growth->family_of));
		growth->frame_count = wanted;
	}
	if (growth->family_of[frame] == 0) {
		*SEEP_APPEND(growth->families, growth->family_count) = (struct family){ 0 };
		growth->family_of[frame] = growth->family_count;
	}
	growth->families[growth->family_of[frame] - 1].contexts++;
	return growth->family_of[frame];
}

static void observe_families(struct seep_growth *growth)
{
	for (uint32_t i = 0; i < growth->family_count; i++) {
		struct family *family = &growth->families[i];

		if (family->contexts > FAMILY_MAX) {
			free(family->series);
			family->series = NULL;
		} else if (family->contexts > 1) {
			if (!family->series) {
				family->series = seep_xcalloc(1, sizeof(*family->series));
				family->first_ns = growth->now_ns;
			}
			if (!family->in_doubt)
				seep_growth_series_add(family->series, growth->after_ns,
						       growth->now_ns, family->bytes,
						       family->blocks);
		}
		family->bytes = family->blocks = 0;
		family->in_doubt = false;
	}
}

void seep_growth_observe(struct seep_growth *growth, const struct seep_profile *profile,
			 uint64_t now_ns)
{
	const bool look_at_ages = now_ns >= growth->next_ages_ns;

	if (growth->readings == 0)
		growth->first_ns = now_ns;
	growth->before_ns = growth->now_ns;
	growth->now_ns = now_ns;
	growth->damaged |= seep_profile_says(profile, SEEP_UNSEEN_DAMAGED);
	make_room(growth, profile);
	for (uint32_t i = 0; i < profile->context_count; i++) {
		const struct seep_profile_context *context = &profile->contexts[i];
		struct seen *seen = &growth->seen[context->id];

		if (context->hidden)
			continue;
		if (!seen->family)
			seen->family = join_family(growth, profile, context);
		if (seen->family) {
			growth->families[seen->family - 1].bytes += context->live_bytes;
			growth->families[seen->family - 1].blocks += context->live_blocks;
			growth->families[seen->family - 1].in_doubt |= context->in_doubt;
		}
		observe_bytes(growth, context);
		if (look_at_ages)
			seep_growth_ages_add(&seen->ages, profile, context, growth->after_ns,
					     now_ns);
	}
	observe_families(growth);
	if (look_at_ages)
		growth->next_ages_ns = now_ns + growth->after_ns / SEEP_GROWTH_NEEDED;
	growth->readings++;
}

static uint8_t confidence_of(const struct seep_growth *growth, uint64_t length_ns)
{
	if (length_ns / CONFIDENCE_HIGH >= growth->after_ns)
		return 3;
	return length_ns / CONFIDENCE_MEDIUM >= growth->after_ns ? 2 : 1;
}

/* What it gained since @since_ns its family has lost elsewhere. */
static bool is_replacing(const struct seep_growth *growth, const struct seen *seen,
			 uint64_t since_ns)
{
	const struct family *family = seen->family ? &growth->families[seen->family - 1] : NULL;

	return family && family->series &&
	       family->first_ns <= since_ns + growth->after_ns / SEEP_GROWTH_NEEDED &&
	       !family->series->growing && !family->series->returned;
}

/* A rise is seen when the least of after_ns has risen; that of one block at once. */
static uint64_t quiet_ns(const struct seep_growth *growth, const struct seep_growth_series *series)
{
	const uint64_t since_ns = growth->now_ns - series->rose_ns;

	if (!series->growing || since_ns < growth->after_ns / 2)
		return 0;
	return series->enlarged ? since_ns : since_ns + growth->after_ns;
}

static bool is_growing(const struct seep_growth *growth, const struct seen *seen,
		       struct seep_profile_growth *ret_growth)
{
	const struct seep_growth_series *series = seen->track ? &seen->track->series : NULL;
	const struct seep_growth_ages *ages = seen->ages;

	if (series && ((series->growing && !series->resting) || series->returned) &&
	    !(ages && series->variances < SEEP_GROWTH_CHANCE) &&
	    !is_replacing(growth, seen, series->since_ns))
		*ret_growth = (struct seep_profile_growth){
			.since_ns = series->since_ns,
			.until_ns = series->until_ns,
			.returned = series->returned,
			.bytes = series->grown_bytes,
			.quiet_ns = quiet_ns(growth, series),
			.present_bytes_per_hour = seep_growth_rate(
				seep_growth_series_lately(series), growth->after_ns / 2),
		};
	else if (ages && (ages->growing || ages->returned))
		*ret_growth = (struct seep_profile_growth){
			.since_ns = ages->cohorts.since_ns,
			.until_ns = ages->cohorts.until_ns,
			.returned = ages->returned,
			.bytes = ages->cohorts.bytes,
		};
	else
		return false;
	ret_growth->verdict = SEEP_GROWTH_GROWING;
	ret_growth->confidence = confidence_of(growth, ret_growth->until_ns - ret_growth->since_ns);
	return true;
}

bool seep_growth_of(const struct seep_growth *growth, uint32_t id,
		    struct seep_profile_growth *ret_growth)
{
	const struct seen *seen = id < growth->count ? &growth->seen[id] : NULL;

	if (!seen || growth->damaged)
		return false;
	if (seen->heard)
		*ret_growth = growth->heard.items[seen->heard - 1].growth;
	if (seen->heard || (growth->heard.after_ns && !growth->heard.is_cut))
		return seen->heard;
	if (is_growing(growth, seen, ret_growth))
		return true;
	if (!seen->ages || seen->ages->stale.blocks + seen->ages->freed_late == 0)
		return false;
	*ret_growth = (struct seep_profile_growth){
		.verdict = seen->ages->stale.blocks ? SEEP_GROWTH_STALE : SEEP_GROWTH_NONE,
		.since_ns = seen->ages->stale.blocks ? seen->ages->stale.since_ns : growth->now_ns,
		.until_ns = growth->now_ns,
		.bytes = seen->ages->stale.bytes,
		.blocks = seen->ages->stale.blocks,
		.freed_late = seen->ages->freed_late,
		.confidence = seen->ages->freed_late ? 1 : 2,
	};
	return true;
}

bool seep_growth_recent(const struct seep_growth *growth, uint32_t id,
			uint64_t ret_bytes[SEEP_GROWTH_RECENT])
{
	const struct track *track = id < growth->count ? growth->seen[id].track : NULL;

	if (!track)
		return false;
	for (uint32_t i = 0; i < SEEP_GROWTH_RECENT; i++)
		ret_bytes[i] = track->recent[(growth->readings + i) % SEEP_GROWTH_RECENT];
	return true;
}

static bool is_known(const struct seep_growth *growth)
{
	return !growth->damaged && growth->readings > 0 &&
	       growth->now_ns - growth->first_ns >= growth->after_ns;
}

int64_t seep_growth_weight(const struct seep_profile_growth *growth)
{
	if (growth->verdict == SEEP_GROWTH_GROWING && !growth->returned)
		return GROWING_WEIGHT + (int64_t)(seep_growth_bytes_per_hour(growth) >> 2);
	return growth->verdict == SEEP_GROWTH_STALE ? STALE_WEIGHT + (int64_t)(growth->bytes >> 4)
						    : 0;
}

static int worst_first(const void *a, const void *b)
{
	const int64_t x = seep_growth_weight(&((const struct seep_growth_item *)a)->growth);
	const int64_t y = seep_growth_weight(&((const struct seep_growth_item *)b)->growth);

	return (x < y) - (x > y);
}

struct seep_growth_list seep_growth_list(const struct seep_growth *growth)
{
	struct seep_growth_list list = { 0 };

	if (is_known(growth))
		list.after_ns = growth->after_ns;
	list.is_full = growth->track_count == TRACKS_MAX;
	for (uint32_t id = 0; id < growth->count; id++) {
		struct seep_growth_item item = { .id = id };

		if (!seep_growth_of(growth, id, &item.growth))
			continue;
		list.growing_count += item.growth.verdict == SEEP_GROWTH_GROWING;
		if (seep_growth_weight(&item.growth) >= GROWING_WEIGHT) {
			item.is_news = !growth->seen[id].told;
			list.news |= item.is_news;
			list.sum.contexts++;
			list.sum.bytes += item.growth.bytes;
			list.sum.bytes_per_hour += seep_growth_bytes_per_hour(&item.growth);
		}
		*SEEP_APPEND(list.items, list.count) = item;
	}
	if (list.count > 0)
		qsort(list.items, list.count, sizeof(*list.items), worst_first);
	return list;
}

void seep_growth_tell(struct seep_growth *growth, const struct seep_growth_list *list)
{
	for (uint32_t i = 0; i < list->count; i++)
		growth->seen[list->items[i].id].told |= list->items[i].is_news;
}

void seep_growth_hear(struct seep_growth *growth, const struct seep_profile *profile,
		      struct seep_growth_list *list)
{
	for (uint32_t i = 0; i < growth->heard.count; i++)
		if (growth->heard.items[i].id < growth->count)
			growth->seen[growth->heard.items[i].id].heard = 0;
	seep_growth_list_done(&growth->heard);
	growth->heard = *list;
	*list = (struct seep_growth_list){ 0 };
	for (uint32_t i = 0; i < growth->heard.count && growth->heard.after_ns; i++) {
		struct seep_growth_item *item = &growth->heard.items[i];
		const uint32_t place = seep_profile_context_of(profile, item->id);
		const struct seep_profile_context *context;

		if (place == 0 || place > profile->context_count ||
		    item->growth.verdict >= SEEP_GROWTH_COUNT ||
		    profile->contexts[place - 1].hidden)
			continue;
		context = &profile->contexts[place - 1];
		item->id = context->id;
		item->growth.bytes = core_smaller(item->growth.bytes, context->alloc_bytes);
		growth->seen[item->id].heard = i + 1;
	}
}

void seep_growth_fill(const struct seep_growth_list *list, struct seep_profile *profile)
{
	if (seep_profile_says(profile, SEEP_UNSEEN_DAMAGED))
		return;
	profile->growth_after_ns = list->after_ns;
	if (list->is_full)
		seep_profile_add_unseen(profile, "growth-full",
					"growth was followed for %d call stacks only", TRACKS_MAX);
	for (uint32_t i = 0; i < list->count; i++) {
		const struct seep_growth_item *item = &list->items[i];
		const uint32_t place = seep_profile_context_of(profile, item->id);
		struct seep_profile_context *context;
		SEEP_FREED char *evidence = NULL;

		if (place == 0)
			continue;
		context = &profile->contexts[place - 1];
		context->growth = seep_profile_calloc(profile, 1, sizeof(*context->growth));
		*context->growth = item->growth;
		evidence = seep_growth_evidence(profile, context, context->growth);
		context->growth->evidence = seep_profile_strdup(profile, evidence);
	}
}

int seep_growth_rank(const struct seep_profile_growth *growth)
{
	return growth->verdict == SEEP_GROWTH_GROWING ? 2 : growth->verdict == SEEP_GROWTH_STALE;
}

void seep_growth_join(struct seep_profile_growth *all, const struct seep_profile_growth *one)
{
	const int order = seep_growth_rank(one) - seep_growth_rank(all);

	if (order > 0 || all->until_ns == 0) {
		*all = *one;
		return;
	}
	if (order < 0)
		return;
	all->since_ns = core_smaller(all->since_ns, one->since_ns);
	all->until_ns = core_larger(all->until_ns, one->until_ns);
	if (one->confidence > all->confidence)
		all->confidence = one->confidence;
	all->quiet_ns = core_smaller(all->quiet_ns, one->quiet_ns);
	all->present_bytes_per_hour += one->present_bytes_per_hour;
	all->bytes += one->bytes;
	all->blocks += one->blocks;
	all->freed_late += one->freed_late;
	all->returned &= one->returned;
}
