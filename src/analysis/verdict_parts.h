/* SPDX-License-Identifier: MIT */
/* Blocks of the same fate, before they are a profile's leaks. For verdicts.c and verdict_sites.c. */
#ifndef SEEP_ANALYSIS_VERDICT_PARTS_H
#define SEEP_ANALYSIS_VERDICT_PARTS_H

#include "analysis/verdicts.h"
#include "base/idtable.h"

/* What the blocks of one leak have in common. */
struct fate {
	uint32_t context; /* index + 1 */
	uint32_t leader;  /* leak of the root, + 1 */
	uint32_t rule;	  /* suppression's number + 1 */
	uint8_t verdict;
	uint8_t is_reported;
	uint8_t scan_rule;
	uint8_t root;
};

_Static_assert(sizeof(struct fate) == 16, "compared and hashed as bytes");

struct draft {
	struct fate fate;
	uint64_t first;	 /* block of the result with the lowest address */
	uint64_t hinted; /* the first one with a hint */
	/* What its blocks stand for beside themselves, and the sum of the squares of that. */
	double others, other_bytes, squares;
	struct seep_profile_leak leak;
};

#define NO_BLOCK UINT64_MAX

struct judge {
	struct seep_profile *profile;
	struct scan_result *result;
	struct seep_suppressions *suppressions;
	const struct seep_verdict_options *options;
	struct seep_arena *arena; /* of the components */
	uint8_t *roles;
	uint32_t *leaders;
	/* By block of the result. */
	uint8_t *verdicts;
	uint32_t *rules; /* suppression's number + 1 */
	uint32_t *leaks; /* draft's index */
	/* By context and verdict: 0 not asked, 1 no suppression, else its number * 2 + effect. */
	uint32_t *effects;
	bool roots_changed; /* something lost was suppressed since roots were looked for */
	struct seep_idtable by_fate;
	struct draft *drafts;
	size_t draft_count;
	uint32_t *places; /* by draft: its index among the profile's leaks */
};

/* The draft of this fate, made if it is new. Others may move. */
struct draft *seep_judge_draft(struct judge *j, const struct fate *fate);

/*
 * docs/internals/tiers.md: give what drafts of sites' contexts, from number @first on, have to drafts
 * of their stacks.
 */
void seep_judge_split_sites(struct judge *j, size_t first);

#endif
