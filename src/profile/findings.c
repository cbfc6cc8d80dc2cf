/* SPDX-License-Identifier: MIT */
#include "profile/findings.h"

#include <stdlib.h>

#include "base/search.h"
#include "core/bits.h"
#include "core/fnv.h"
#include "profile/context_hash.h"
#include "profile/profile.h"

static uint64_t hash_of(const struct seep_profile *profile,
			const struct seep_profile_finding *finding)
{
	const struct seep_profile_context *block = seep_profile_context_at(profile, finding->block);
	const struct seep_profile_context *here = seep_profile_context_at(profile, finding->here);
	uint64_t hash = core_fnv_byte(CORE_FNV_BASIS, finding->kind);

	hash = core_fnv_byte(hash, finding->freeing);
	hash = core_fnv_number(hash, block ? block->hash : 0);
	return core_fnv_number(hash, here ? here->hash : 0);
}

static uint64_t lines_of(const struct seep_profile *profile, uint32_t place)
{
	const struct seep_profile_context *context = seep_profile_context_at(profile, place);

	return context ? seep_profile_lines_hash(profile, context) : 0;
}

static int by_text(const struct seep_profile_finding *a, const struct seep_profile_finding *b,
		   const struct seep_profile *profile)
{
	return seep_search_order(a->hash, b->hash)
		       ?: seep_search_order(lines_of(profile, a->here), lines_of(profile, b->here))
		       ?: seep_search_order(lines_of(profile, a->block),
					    lines_of(profile, b->block));
}

static int by_text_and_time(const void *left, const void *right, void *user)
{
	const struct seep_profile_finding *a = left, *b = right;

	return by_text(a, b, user) ?: seep_search_order(a->at_ns, b->at_ns);
}

static int worst_first(const void *left, const void *right)
{
	const struct seep_profile_finding *a = left, *b = right;

	return seep_search_order(b->count, a->count) ?: seep_search_order(a->at_ns, b->at_ns)
		?: seep_search_order(a->hash, b->hash);
}

/* Where somebody allocates past the hooks, they may have been right. */
static uint32_t without_doubtful(struct seep_profile *profile)
{
	const bool is_bypassed = seep_profile_says(profile, SEEP_UNSEEN_ELSEWHERE) ||
				 seep_profile_says(profile, SEEP_UNSEEN_PRIVATE);
	const uint32_t count = profile->finding_count;
	uint32_t kept = 0;

	for (uint32_t i = 0; i < count; i++)
		if (!is_bypassed || !profile->findings[i].doubtful)
			profile->findings[kept++] = profile->findings[i];
	profile->finding_count = kept;
	if (kept < count)
		seep_profile_add_unseen(
			profile, "findings-doubtful",
			"%u wrong frees are left out: some calls bypass seep, and with "
			"those they may have been right",
			count - kept);
	return kept;
}

void seep_findings_merge(struct seep_profile *profile)
{
	struct seep_profile_finding *all = profile->findings;
	const uint32_t count = without_doubtful(profile);
	uint32_t kept = 0;

	if (count == 0)
		return;
	for (uint32_t i = 0; i < count; i++)
		all[i].hash = hash_of(profile, &all[i]);
	qsort_r(all, count, sizeof(*all), by_text_and_time, profile);
	for (uint32_t i = 1; i < count; i++)
		if (by_text(&all[i], &all[kept], profile) == 0)
			all[kept].count = core_smaller(all[kept].count + all[i].count, INT64_MAX);
		else
			all[++kept] = all[i];
	profile->finding_count = kept + 1;
	qsort(all, kept + 1, sizeof(*all), worst_first);
}
