/* SPDX-License-Identifier: MIT */
#include "analysis/baseline.h"

#include <stdlib.h>

#include "base/xalloc.h"

bool seep_baseline_has(const struct seep_idtable *hashes, uint64_t hash)
{
	size_t at = SEEP_IDTABLE_START;

	return hash != 0 && seep_idtable_find(hashes, hash, &at) != SEEP_IDTABLE_NONE;
}

void seep_budget_side_done(struct seep_budget_side *side)
{
	seep_sites_free(side->sites);
	seep_profile_free(side->profile);
	*side = (struct seep_budget_side){ 0 };
}

static void remember(struct seep_idtable *hashes, uint64_t hash)
{
	if (hash != 0 && !seep_baseline_has(hashes, hash))
		seep_idtable_add(hashes, hash, 0);
}

void seep_baseline_take(struct seep_baseline *baseline, struct seep_budget_side side)
{
	struct seep_baseline_item item = { .side = side };
	const struct seep_profile *profile = side.profile;

	seep_leak_sums_init(&item.leaks, profile);
	for (uint32_t i = 0; i < profile->context_count; i++) {
		const struct seep_profile_growth *growth = profile->contexts[i].growth;

		if (growth && growth->verdict == SEEP_GROWTH_GROWING)
			remember(&baseline->growing, profile->contexts[i].hash);
	}
	for (uint32_t i = 0; i < profile->finding_count; i++)
		if (!profile->findings[i].suppressed_by)
			remember(&baseline->findings, profile->findings[i].hash);
	*SEEP_APPEND(baseline->items, baseline->count) = item;
}

void seep_baseline_done(struct seep_baseline *baseline)
{
	for (size_t i = 0; i < baseline->count; i++) {
		struct seep_baseline_item *item = &baseline->items[i];

		for (size_t k = 0; k < item->figure_count; k++)
			free(item->figures[k].budget);
		free(item->figures);
		seep_leak_sums_done(&item->leaks);
		seep_budget_side_done(&item->side);
	}
	free(baseline->items);
	seep_idtable_done(&baseline->growing);
	seep_idtable_done(&baseline->findings);
	*baseline = (struct seep_baseline){ 0 };
}
