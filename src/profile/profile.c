/* SPDX-License-Identifier: MIT */
#include "profile/profile.h"

#include "base/arena.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { DETAIL_BYTES = 1024, STACK_ENTRIES_PER_BYTE = 8 };

#define STACK_ENTRIES_MIN (1ull << 24)
#define STACK_ENTRIES_MAX (1ull << 28)

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

/* Room for one more line; the array doubles whenever its count is a power of two. */
static struct seep_profile_unseen *append_unseen(struct seep_profile *profile)
{
	uint32_t count = profile->unseen_count;

	if ((count & (count - 1)) == 0) {
		struct seep_profile_unseen *bigger;

		bigger = seep_profile_calloc(profile, count ? 2 * (size_t)count : 1,
					     sizeof(*bigger));
		if (count)
			memcpy(bigger, profile->unseen, count * sizeof(*bigger));
		profile->unseen = bigger;
	}
	profile->unseen_count++;
	return &profile->unseen[count];
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
	line = append_unseen(profile);
	line->code = seep_profile_strdup(profile, code);
	line->detail = seep_profile_strdup(profile, detail);
}

uint64_t seep_profile_stack_entries_max(uint64_t held_bytes)
{
	if (held_bytes > (STACK_ENTRIES_MAX - STACK_ENTRIES_MIN) / STACK_ENTRIES_PER_BYTE)
		return STACK_ENTRIES_MAX;
	return STACK_ENTRIES_MIN + held_bytes * STACK_ENTRIES_PER_BYTE;
}

void seep_profile_add_stacks_cut(struct seep_profile *profile, uint64_t entries_max)
{
	seep_profile_add_unseen(profile, "stacks-cut",
				"there are more than %llu frames in all stacks together; "
				"later stacks show their innermost frames only",
				(unsigned long long)entries_max);
}
