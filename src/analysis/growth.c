/* SPDX-License-Identifier: MIT */
#include "analysis/growth.h"

#include "analysis/growth_series.h"
#include "base/clock.h"
#include "base/strbuf.h"
#include "base/units.h"
#include "base/xalloc.h"
#include "core/bits.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	STALE_LEAST_ALLOCS = 100,
	STALE_FREED_PERCENT = 90, /* of its blocks a context usually frees, at least */
	STALE_LIVES = 20,	  /* times the usual life */
	RAISE_TIMES = 2,	  /* the age at which stale blocks were freed after all */
	CONFIDENCE_MEDIUM = 3,	  /* times after_ns */
	CONFIDENCE_HIGH = 10,
	RECALLED_PARTS = 8, /* of an epoch, of which only the ends are known */
	EVIDENCE_BYTES_MAX = 512,
};

/* Blocks of epochs up to last_epoch that are stale; blocks 0: none. */
struct stale {
	uint32_t last_epoch;
	uint64_t blocks;
	uint64_t bytes;
	uint64_t since_ns; /* all of them were allocated before */
	uint64_t age_ns;   /* below which a block is not stale; raised when stale ones are freed */
	uint64_t freed_late;
};

/* Of a context whose live bytes have changed since it was seen first. */
struct track {
	struct seep_growth_series series;
	uint64_t recent[SEEP_GROWTH_RECENT]; /* a ring */
};

struct seen {
	struct track *track;
	struct stale *stale;
	uint64_t live_bytes; /* as read last */
};

struct seep_growth {
	uint64_t after_ns;
	uint64_t first_ns;
	uint64_t now_ns;
	uint64_t before_ns; /* the reading before the last */
	uint64_t next_stale_ns;
	uint32_t readings;
	struct seen *seen; /* by context id */
	uint32_t count;
	uint32_t *tracked; /* ids */
	uint32_t tracked_count;
};

struct seep_growth *seep_growth_new(uint64_t after_ns)
{
	struct seep_growth *growth = seep_xcalloc(1, sizeof(*growth));

	growth->after_ns = core_larger(after_ns, 1);
	return growth;
}

void seep_growth_free(struct seep_growth *growth)
{
	if (!growth)
		return;
	for (uint32_t i = 0; i < growth->count; i++) {
		free(growth->seen[i].track);
		free(growth->seen[i].stale);
	}
	free(growth->seen);
	free(growth->tracked);
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
	growth->seen = seep_xrealloc(growth->seen, wanted, sizeof(*growth->seen));
	growth->tracked = seep_xrealloc(growth->tracked, wanted, sizeof(*growth->tracked));
	memset(growth->seen + growth->count, 0, (wanted - growth->count) * sizeof(*growth->seen));
	growth->count = wanted;
}

/* When @epoch began; marks are in the order of their epochs. */
static uint64_t epoch_start(const struct seep_profile *profile, uint32_t epoch)
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

/*
 * Of a context that never freed anything, what is alive tells what was alive before: at the end of
 * each epoch exactly, in between as if it had come evenly.
 */
static void recall(struct seep_growth_series *series, const struct seep_growth *growth,
		   const struct seep_profile *profile, const struct seep_profile_context *context)
{
	uint64_t bytes = 0, blocks = 0;

	for (uint32_t i = 0; i < context->epoch_count; i++) {
		const struct seep_profile_epoch *epoch = &context->epochs[i];
		const uint64_t from_ns = core_larger(epoch_start(profile, epoch->epoch),
						     context->first_ns);
		const uint64_t to_ns = core_smaller(epoch_start(profile, epoch->epoch + 1),
						    growth->before_ns);

		for (uint64_t part = 0; part < RECALLED_PARTS && from_ns < to_ns; part++)
			seep_growth_series_add(series, growth->after_ns,
					       from_ns + (to_ns - from_ns) / RECALLED_PARTS * part,
					       bytes + epoch->bytes / RECALLED_PARTS * part,
					       blocks + epoch->blocks / RECALLED_PARTS * part);
		bytes += epoch->bytes;
		blocks += epoch->blocks;
	}
}

/* Up to now it had the same all the time, and @before_bytes when it was read last. */
static struct track *begin_track(struct seep_growth *growth, const struct seep_profile *profile,
				 const struct seep_profile_context *context, uint64_t before_bytes)
{
	struct track *track = seep_xcalloc(1, sizeof(*track));

	for (int i = 0; i < SEEP_GROWTH_RECENT; i++)
		track->recent[i] = before_bytes;
	if (context->frees == 0)
		recall(&track->series, growth, profile, context);
	seep_growth_series_add(&track->series, growth->after_ns, growth->before_ns, before_bytes,
			       context->live_blocks);
	growth->tracked[growth->tracked_count++] = context->id;
	return growth->seen[context->id].track = track;
}

static void observe_bytes(struct seep_growth *growth, const struct seep_profile *profile,
			  const struct seep_profile_context *context)
{
	struct seen *seen = &growth->seen[context->id];
	struct track *track = seen->track;

	if (!track && growth->readings > 0 && context->live_bytes != seen->live_bytes)
		track = begin_track(growth, profile, context, seen->live_bytes);
	seen->live_bytes = context->live_bytes;
	if (!track)
		return;
	track->recent[growth->readings % SEEP_GROWTH_RECENT] = context->live_bytes;
	if (!context->in_doubt)
		seep_growth_series_add(&track->series, growth->after_ns, growth->now_ns,
				       context->live_bytes, context->live_blocks);
}

/* Little's law: blocks in use = rate * time that each is in use. */
static uint64_t usual_life_ns(const struct seep_growth *growth, const struct seep_profile *profile,
			      const struct seep_profile_context *context, uint64_t old_blocks)
{
	const uint64_t lived_ns = growth->now_ns -
				  core_larger(context->first_ns, profile->process.start_ns);
	const uint64_t blocks = context->live_blocks - old_blocks;

	return (uint64_t)((double)lived_ns / (double)context->allocs * (double)(blocks + 1));
}

/* Those that are older than @age_ns, by the epochs that were over then. */
static struct stale count_old(const struct seep_growth *growth, const struct seep_profile *profile,
			      const struct seep_profile_context *context, uint64_t age_ns)
{
	struct stale old = { .age_ns = age_ns };

	for (uint32_t i = 0; i < context->epoch_count; i++) {
		const struct seep_profile_epoch *epoch = &context->epochs[i];
		uint64_t over_ns = epoch_start(profile, epoch->epoch + 1);

		if (epoch->blocks == 0)
			continue;
		if (over_ns >= growth->now_ns || growth->now_ns - over_ns < age_ns)
			break;
		old.last_epoch = epoch->epoch;
		old.blocks += epoch->blocks;
		old.bytes += epoch->bytes;
		old.since_ns = over_ns;
	}
	return old;
}

/* What was stale, and how much of that is still there. */
static uint64_t count_left(const struct stale *stale, const struct seep_profile_context *context)
{
	uint64_t left = 0;

	for (uint32_t i = 0; i < context->epoch_count; i++)
		if (context->epochs[i].epoch <= stale->last_epoch)
			left += context->epochs[i].blocks;
	return left;
}

static void observe_age(struct seep_growth *growth, const struct seep_profile *profile,
			const struct seep_profile_context *context)
{
	struct stale **stale = &growth->seen[context->id].stale;
	uint64_t age_ns = growth->after_ns * SEEP_GROWTH_STALE_TIMES;
	uint64_t freed_late = 0;
	struct stale old;

	if (*stale) {
		age_ns = (*stale)->age_ns;
		freed_late = (*stale)->freed_late;
		if ((*stale)->blocks > 0) {
			uint64_t left = count_left(*stale, context);

			if (left < (*stale)->blocks) {
				freed_late += (*stale)->blocks - left;
				age_ns = RAISE_TIMES * (growth->now_ns - (*stale)->since_ns);
			}
		}
	} else if (context->allocs < STALE_LEAST_ALLOCS || context->epoch_count == 0 ||
		   context->frees * 100 < context->allocs * STALE_FREED_PERCENT) {
		return;
	}
	old = count_old(growth, profile, context, age_ns);
	if (old.blocks > 0 &&
	    growth->now_ns - old.since_ns <
		    STALE_LIVES * usual_life_ns(growth, profile, context, old.blocks))
		old.blocks = 0;
	if (!*stale && old.blocks == 0)
		return;
	if (!*stale)
		*stale = seep_xcalloc(1, sizeof(**stale));
	**stale = old;
	(*stale)->freed_late = freed_late;
}

void seep_growth_observe(struct seep_growth *growth, const struct seep_profile *profile,
			 uint64_t now_ns)
{
	const bool look_at_ages = now_ns >= growth->next_stale_ns;

	if (growth->readings == 0)
		growth->first_ns = now_ns;
	growth->before_ns = growth->now_ns;
	growth->now_ns = now_ns;
	make_room(growth, profile);
	for (uint32_t i = 0; i < profile->context_count; i++) {
		observe_bytes(growth, profile, &profile->contexts[i]);
		if (look_at_ages)
			observe_age(growth, profile, &profile->contexts[i]);
	}
	if (look_at_ages)
		growth->next_stale_ns = now_ns + growth->after_ns / SEEP_GROWTH_NEEDED;
	growth->readings++;
}

static uint8_t confidence_of(const struct seep_growth *growth, uint64_t length_ns)
{
	if (length_ns / CONFIDENCE_HIGH >= growth->after_ns)
		return 3;
	return length_ns / CONFIDENCE_MEDIUM >= growth->after_ns ? 2 : 1;
}

static bool is_growing(const struct seep_growth *growth, const struct seep_growth_series *series,
		       struct seep_profile_growth *ret_growth)
{
	if (!series->growing && !series->returned)
		return false;
	*ret_growth = (struct seep_profile_growth){
		.verdict = SEEP_GROWTH_GROWING,
		.since_ns = series->since_ns,
		.until_ns = series->until_ns,
		.returned = series->returned,
		.bytes = series->grown_bytes,
		.confidence = confidence_of(growth, series->until_ns - series->since_ns),
	};
	return true;
}

bool seep_growth_of(const struct seep_growth *growth, uint32_t id,
		    struct seep_profile_growth *ret_growth)
{
	const struct seen *seen = id < growth->count ? &growth->seen[id] : NULL;

	if (!seen)
		return false;
	if (seen->track && is_growing(growth, &seen->track->series, ret_growth))
		return true;
	if (!seen->stale || seen->stale->blocks + seen->stale->freed_late == 0)
		return false;
	*ret_growth = (struct seep_profile_growth){
		.verdict = seen->stale->blocks ? SEEP_GROWTH_STALE : SEEP_GROWTH_NONE,
		.since_ns = seen->stale->since_ns,
		.until_ns = growth->now_ns,
		.bytes = seen->stale->bytes,
		.blocks = seen->stale->blocks,
		.freed_late = seen->stale->freed_late,
		.confidence = seen->stale->freed_late ? 1 : 2,
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
	return growth->readings > 0 && growth->now_ns - growth->first_ns >= growth->after_ns;
}

struct seep_growth_sum seep_growth_sum(const struct seep_growth *growth)
{
	struct seep_growth_sum sum = { .known = is_known(growth) };

	for (uint32_t i = 0; i < growth->tracked_count; i++) {
		struct seep_profile_growth one;

		if (!seep_growth_of(growth, growth->tracked[i], &one) ||
		    one.verdict != SEEP_GROWTH_GROWING || one.returned)
			continue;
		sum.contexts++;
		sum.bytes += one.bytes;
		sum.bytes_per_hour += seep_growth_bytes_per_hour(&one);
	}
	return sum;
}

struct seep_growth_list seep_growth_list(const struct seep_growth *growth)
{
	struct seep_growth_list list = { 0 };
	size_t capacity = 0;

	if (is_known(growth))
		list.after_ns = growth->after_ns;
	for (uint32_t id = 0; id < growth->count; id++) {
		struct seep_growth_item item = { .id = id };

		if (!seep_growth_of(growth, id, &item.growth))
			continue;
		list.items = seep_xgrow(list.items, &capacity, list.count + 1u, sizeof(item));
		list.items[list.count++] = item;
	}
	return list;
}

void seep_growth_list_done(struct seep_growth_list *list)
{
	free(list->items);
	*list = (struct seep_growth_list){ 0 };
}

static int by_id(const void *key, const void *item)
{
	const uint32_t id = *(const uint32_t *)key;
	const uint32_t other = ((const struct seep_growth_item *)item)->id;

	return (id > other) - (id < other);
}

void seep_growth_fill(const struct seep_growth_list *list, struct seep_profile *profile)
{
	profile->growth_after_ns = list->after_ns;
	for (uint32_t i = 0; i < profile->context_count && list->count > 0; i++) {
		struct seep_profile_context *context = &profile->contexts[i];
		const struct seep_growth_item *item = bsearch(&context->id, list->items,
							      list->count, sizeof(*item), by_id);
		char *evidence;

		if (!item)
			continue;
		context->growth = seep_profile_calloc(profile, 1, sizeof(*context->growth));
		*context->growth = item->growth;
		evidence = seep_growth_evidence(profile, context, context->growth);
		context->growth->evidence = seep_profile_strdup(profile, evidence);
		free(evidence);
	}
}

uint32_t seep_growth_count(const struct seep_profile *profile)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < profile->context_count; i++) {
		const struct seep_profile_growth *growth = profile->contexts[i].growth;

		count += growth && growth->verdict == SEEP_GROWTH_GROWING;
	}
	return count;
}

uint64_t seep_growth_bytes_per_hour(const struct seep_profile_growth *growth)
{
	const uint64_t length_ns = growth->until_ns - growth->since_ns;

	if (length_ns == 0)
		return 0;
	return (uint64_t)((double)growth->bytes * (3600.0 * SEEP_NS_PER_S) / (double)length_ns);
}

struct seep_rate_text seep_growth_rate_text(uint64_t bytes_per_hour)
{
	static const struct {
		uint64_t per_hour;
		const char *name;
	} units[] = { { 3600, "s" }, { 60, "min" }, { 1, "h" } };
	struct seep_rate_text rate;
	size_t i = 0;

	/* Per minute, as people say it, unless that is less than a KB or more than 60 MB. */
	if (bytes_per_hour / 60 < (UINT64_C(60) << 20))
		i = bytes_per_hour / 60 < 1024 ? 2 : 1;
	(void)snprintf(rate.text, sizeof(rate.text), "+%s/%s",
		       seep_bytes_text(bytes_per_hour / units[i].per_hour).text, units[i].name);
	return rate;
}

static void say_growth(struct seep_strbuf *text, const struct seep_profile *profile,
		       const struct seep_profile_context *context,
		       const struct seep_profile_growth *growth)
{
	const uint64_t start_ns = core_larger(context->first_ns, profile->process.start_ns);

	seep_strbuf_addf(text, "%s for %s",
			 seep_growth_rate_text(seep_growth_bytes_per_hour(growth)).text,
			 seep_duration_text(growth->until_ns - growth->since_ns).text);
	if (growth->returned) {
		seep_strbuf_addf(text, ", then %s given back",
				 context->live_bytes ? "most of it was" : "all of it was");
		return;
	}
	seep_strbuf_addf(text, ", %s of %s ever freed", seep_digits_text(context->frees).text,
			 seep_things_text(context->allocs, "block").text);
	if (context->frees == 0 && growth->until_ns > start_ns)
		seep_strbuf_addf(text, ", oldest %s",
				 seep_duration_text(growth->until_ns - start_ns).text);
}

static void say_stale(struct seep_strbuf *text, const struct seep_profile_context *context,
		      const struct seep_profile_growth *growth)
{
	if (growth->verdict == SEEP_GROWTH_STALE)
		seep_strbuf_addf(text, "%s (%s) older than %s, %s of %s freed",
				 seep_things_text(growth->blocks, "block").text,
				 seep_bytes_text(growth->bytes).text,
				 seep_duration_text(growth->until_ns - growth->since_ns).text,
				 seep_digits_text(context->frees).text,
				 seep_things_text(context->allocs, "block").text);
	if (growth->freed_late)
		seep_strbuf_addf(text, "%s%s expired and then freed", text->length ? "; " : "",
				 seep_things_text(growth->freed_late, "block").text);
}

char *seep_growth_evidence(const struct seep_profile *profile,
			   const struct seep_profile_context *context,
			   const struct seep_profile_growth *growth)
{
	struct seep_strbuf text;

	seep_strbuf_init(&text, EVIDENCE_BYTES_MAX);
	if (growth->verdict == SEEP_GROWTH_GROWING)
		say_growth(&text, profile, context, growth);
	else
		say_stale(&text, context, growth);
	return seep_strbuf_take(&text);
}

const char *seep_growth_verdict_name(unsigned verdict)
{
	static const char *const names[] = {
		[SEEP_GROWTH_NONE] = "",
		[SEEP_GROWTH_GROWING] = "GROWING",
		[SEEP_GROWTH_STALE] = "STALE",
		[SEEP_GROWTH_HELD] = "HELD",
	};

	return verdict < SEEP_GROWTH_COUNT ? names[verdict] : "unknown";
}

const char *seep_growth_confidence_name(unsigned confidence)
{
	return confidence >= 3 ? "high" : confidence == 2 ? "medium" : "low";
}
