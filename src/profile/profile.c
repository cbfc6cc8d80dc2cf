/* SPDX-License-Identifier: MIT */
#include "profile/profile.h"

#include "base/arena.h"
#include "base/path.h"
#include "base/xalloc.h"
#include "core/bits.h"
#include "ledger/ledger.h"
#include "profile/counted.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DETAIL_BYTES = 1024 };

struct seep_profile *seep_profile_new(void)
{
	struct seep_arena *arena = seep_arena_new();
	struct seep_profile *profile = seep_arena_alloc(arena, sizeof(*profile));

	profile->arena = arena;
	profile->totals.peak_exact = true;
	return profile;
}

void seep_profile_free(struct seep_profile *profile)
{
	if (!profile)
		return;
	for (int i = 0; i < SEEP_ARRAY_COUNT; i++)
		free(profile->grown[i].items);
	free(profile->inlined);
	seep_arena_free(profile->arena);
}

void *seep_profile_calloc(struct seep_profile *profile, size_t count, size_t item_bytes)
{
	return seep_arena_calloc(profile->arena, count, item_bytes);
}

char *seep_profile_strdup(struct seep_profile *profile, const char *text)
{
	return text ? seep_arena_strndup(profile->arena, text, strlen(text)) : NULL;
}

char *seep_profile_strndup(struct seep_profile *profile, const char *bytes, size_t count)
{
	return seep_arena_strndup(profile->arena, bytes, count);
}

static const struct {
	size_t item_bytes;
	size_t items_at;
	size_t count_at;
} arrays[SEEP_ARRAY_COUNT] = {
#define ITEM(constant, items, count, type)                                              \
	[SEEP_ARRAY_##constant] = { sizeof(type), offsetof(struct seep_profile, items), \
				    offsetof(struct seep_profile, count) },
	SEEP_ARRAYS(ITEM)
#undef ITEM
};

const void *seep_profile_items(const struct seep_profile *profile, enum seep_array array,
			       uint32_t *ret_count)
{
	const char *at = (const char *)profile;

	*ret_count = *(const uint32_t *)(const void *)(at + arrays[array].count_at);
	return *(const void *const *)(const void *)(at + arrays[array].items_at);
}

void *seep_profile_add_items(struct seep_profile *profile, enum seep_array array, uint32_t count)
{
	const size_t bytes = arrays[array].item_bytes;
	uint32_t *had = (void *)((char *)profile + arrays[array].count_at);
	char *grown = seep_xgrow(profile->grown[array].items, &profile->grown[array].capacity,
				 (size_t)*had + count, bytes);

	profile->grown[array].items = grown;
	memcpy((char *)profile + arrays[array].items_at, &grown, sizeof(grown));
	grown += *had * bytes;
	*had += count;
	return memset(grown, 0, count * bytes);
}

struct seep_profile_other seep_profile_share(const struct seep_profile *profile)
{
	const struct seep_profile_counted counted = seep_profile_counted(profile);
	/* Of an estimate: what is alive and what was freed make what was allocated. */
	const uint64_t live = core_smaller(profile->totals.live_bytes, counted.alloc_bytes);
	const struct seep_profile_process *process = &profile->process;

	return (struct seep_profile_other){
		.pid = process->pid,
		.ppid = process->ppid,
		.start_ns = process->start_ns,
		.end_ns = process->end_ns,
		.allocs = counted.allocs,
		.alloc_bytes = counted.alloc_bytes,
		/* Some may have been an ancestor's, or from before. */
		.frees = core_smaller(counted.frees, counted.allocs),
		.freed_bytes = counted.alloc_bytes - live,
		.live_bytes = live,
		.peak_bytes = profile->totals.peak_bytes,
	};
}

uint64_t seep_profile_option(const struct seep_profile *profile, const char *key,
			     uint64_t otherwise)
{
	const size_t length = strlen(key);

	for (const char *at = profile->process.options; at; at = strchr(at, ':')) {
		at += *at == ':';
		if (strncmp(at, key, length) == 0 && at[length] == '=' && at[length + 1] >= '0' &&
		    at[length + 1] <= '9')
			otherwise = strtoull(at + length + 1, NULL, 10);
	}
	return otherwise;
}

bool seep_profile_is_filled(const struct seep_profile *profile)
{
	return seep_profile_option(profile, "fill", LEDGER_FILL_NONE) < LEDGER_FILL_NONE;
}

static struct seep_profile_unseen *find_unseen(const struct seep_profile *profile, const char *code)
{
	for (uint32_t i = 0; i < profile->unseen_count; i++)
		if (strcmp(profile->unseen[i].code, code) == 0)
			return &profile->unseen[i];
	return NULL;
}

bool seep_profile_says(const struct seep_profile *profile, const char *code)
{
	return find_unseen(profile, code) != NULL;
}

const char *seep_profile_not_scanned(const struct seep_profile *profile)
{
	if (profile->scan.done)
		return NULL;
	if (profile->scan.why_not)
		return profile->scan.why_not;
	return profile->process.ended == SEEP_ENDED_RUNNING
		       ? "no leak check was made; \"seep leaks PID\" makes one while it runs"
		       : "no leak check was made when it was recorded";
}

bool seep_profile_knows(const struct seep_profile *profile, const char *total)
{
	static const struct {
		const char *total;
		const char *code; /* with which it is not */
	} unknown[] = {
		{ "usable_bytes", SEEP_UNSEEN_IMPORTED },
		{ "threads", SEEP_UNSEEN_IMPORTED },
		{ "temporary_bytes", SEEP_UNSEEN_IMPORTED },
		{ "counted_allocs", SEEP_UNSEEN_IMPORTED },
		{ "counted_alloc_bytes", SEEP_UNSEEN_IMPORTED },
		{ "counted_frees", SEEP_UNSEEN_IMPORTED },
		{ "peak_blocks", SEEP_UNSEEN_ONE_MOMENT },
		{ "peak_bytes", SEEP_UNSEEN_ONE_MOMENT },
		{ "temporary", SEEP_UNSEEN_ONE_MOMENT },
		{ "allocs", SEEP_UNSEEN_NO_FREES },
		{ "alloc_bytes", SEEP_UNSEEN_NO_FREES },
		{ "frees", SEEP_UNSEEN_NO_FREES },
		{ "freed_bytes", SEEP_UNSEEN_NO_FREES },
		{ "live_blocks", SEEP_UNSEEN_NO_LIVE },
		{ "live_bytes", SEEP_UNSEEN_NO_LIVE },
		{ "frees", SEEP_UNSEEN_NO_LIVE },
		{ "freed_bytes", SEEP_UNSEEN_NO_LIVE },
	};

	if (!(profile->process.tiers & LEDGER_MODE_SAMPLED) && seep_begins_with(total, "counted_"))
		return false;
	/* Of some call stacks their sums are, and the moment of the process's peak. */
	if (profile->within && strcmp(total, "peak_at_ns") != 0) {
		int figure = 0;

		while (figure < SEEP_FIGURE_COUNT && strcmp(seep_figure_names[figure], total) != 0)
			figure++;
		if (figure == SEEP_FIGURE_COUNT)
			return false;
	}
	for (size_t i = 0; i < sizeof(unknown) / sizeof(unknown[0]); i++)
		if (strcmp(unknown[i].total, total) == 0 &&
		    seep_profile_says(profile, unknown[i].code))
			return false;
	return true;
}

bool seep_profile_is_void(const struct seep_profile *profile)
{
	return seep_profile_counted(profile).allocs == 0 && !profile->within &&
	       (seep_profile_says(profile, "no-memory") || seep_profile_says(profile, "no-space") ||
		seep_profile_says(profile, "ledger-full") ||
		seep_profile_says(profile, "ledger-refused"));
}

void seep_profile_add_unseen(struct seep_profile *profile, const char *code, const char *fmt, ...)
{
	char detail[DETAIL_BYTES];
	struct seep_profile_unseen *line;
	va_list args;

	if (seep_profile_says(profile, code))
		return;
	va_start(args, fmt);
	(void)vsnprintf(detail, sizeof(detail), fmt, args);
	va_end(args);
	line = seep_profile_add(profile, SEEP_ARRAY_UNSEEN);
	line->code = seep_profile_strdup(profile, code);
	line->detail = seep_profile_strdup(profile, detail);
}

void seep_profile_renumber(struct seep_profile *profile, const uint32_t *places)
{
	for (uint32_t i = 0; i < profile->leak_count; i++)
		profile->leaks[i].context = places[profile->leaks[i].context];
	for (uint32_t i = 0; i < profile->finding_count; i++) {
		struct seep_profile_finding *finding = &profile->findings[i];

		finding->block = places[finding->block];
		finding->freed = places[finding->freed];
		finding->here = places[finding->here];
	}
	for (uint32_t i = 0; i < profile->row_count; i++)
		profile->rows[i].context = places[profile->rows[i].context];
	for (uint32_t i = 0; i < profile->place_count; i++)
		profile->places[i] = places[profile->places[i]];
}

void seep_profile_say_unrecorded(struct seep_profile *profile)
{
	const uint64_t count = profile->totals.unrecorded_children;
	SEEP_FREED char *text = seep_xasprintf("%" PRIu64 " child %s not recorded", count,
					       count == 1 ? "process was" : "processes were");
	struct seep_profile_unseen *line = find_unseen(profile, "unrecorded-child");

	if (line)
		line->detail = seep_profile_strdup(profile, text);
	else if (count > 0)
		seep_profile_add_unseen(profile, "unrecorded-child", "%s", text);
}
