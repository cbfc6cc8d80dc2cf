/* SPDX-License-Identifier: MIT */
/* What is remembered of the recordings that others are compared with. */
#ifndef SEEP_ANALYSIS_BASELINE_H
#define SEEP_ANALYSIS_BASELINE_H

#include "analysis/leak_sums.h"
#include "analysis/sites.h"
#include "base/idtable.h"
#include "profile/profile.h"

/* A profile whose contexts have hashes, and its sites. */
struct seep_budget_side {
	struct seep_profile *profile;
	struct seep_sites *sites;
};

/* What one of a baseline has of a budget, which many recordings are compared with. */
struct seep_baseline_figure {
	char *budget; /* as it was written */
	uint64_t value;
	uint64_t error;
};

struct seep_baseline_item {
	struct seep_budget_side side;
	struct seep_leak_sums leaks;
	struct seep_baseline_figure *figures;
	size_t figure_count;
};

/* Earlier recordings. Zeroed is none. */
struct seep_baseline {
	struct seep_baseline_item *items;
	size_t count;
	struct seep_idtable growing; /* the hashes of all, 0 for each */
	struct seep_idtable findings;
};

/* Release @side; empty again. */
void seep_budget_side_done(struct seep_budget_side *side);

/* Add @side, which is the baseline's then. */
void seep_baseline_take(struct seep_baseline *baseline, struct seep_budget_side side);
void seep_baseline_done(struct seep_baseline *baseline);

/* Is @hash, which is not 0, among those that were remembered? */
bool seep_baseline_has(const struct seep_idtable *hashes, uint64_t hash);

#endif
