/* SPDX-License-Identifier: MIT */
#include "profile/profile.h"

#include "base/arena.h"

#include <stdarg.h>
#include <stdio.h>
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
	if (profile)
		seep_arena_free(profile->arena);
}

void *seep_profile_alloc(struct seep_profile *profile, size_t bytes)
{
	return seep_arena_alloc(profile->arena, bytes);
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

void *seep_profile_extend(struct seep_profile *profile, const void *items, uint32_t count,
			  size_t item_bytes)
{
	void *copy = seep_profile_calloc(profile, (size_t)count + 1, item_bytes);

	if (count)
		memcpy(copy, items, count * item_bytes);
	return copy;
}

bool seep_profile_says(const struct seep_profile *profile, const char *code)
{
	for (uint32_t i = 0; i < profile->unseen_count; i++)
		if (strcmp(profile->unseen[i].code, code) == 0)
			return true;
	return false;
}

bool seep_profile_is_void(const struct seep_profile *profile)
{
	return profile->totals.allocs == 0 &&
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
	profile->unseen = seep_profile_extend(profile, profile->unseen, profile->unseen_count,
					      sizeof(*line));
	line = &profile->unseen[profile->unseen_count++];
	line->code = seep_profile_strdup(profile, code);
	line->detail = seep_profile_strdup(profile, detail);
}
