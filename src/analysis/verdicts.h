/* SPDX-License-Identifier: MIT */
/*
 * From a leak scan's blocks to leaks: verdicts by context, with suppressions applied. What only
 * suppressed blocks lead to is suppressed too, so they are applied before roots are looked for.
 */
#ifndef SEEP_ANALYSIS_VERDICTS_H
#define SEEP_ANALYSIS_VERDICTS_H

#include "analysis/suppressions.h"
#include "profile/profile.h"
#include "scan/scan.h"

struct seep_verdict_options {
	uint32_t block_list_max; /* blocks named per leak */
	/* By block of the result: the first bytes of its contents; NULL: none were kept. */
	uint8_t *const *contents;
	uint32_t content_bytes;
};

/**
 * seep_verdicts_judge - fill in @profile->leaks, and scan.suppressions
 * @profile:      of the ledger that the scan's rows are of, with names where they could be found;
 *                rows of ancestors (below first_row) have no context
 * @result:       states of suppressed blocks change
 * @suppressions: their hits are counted
 *
 * LOST, LOST-CYCLE and LOST-WITH of one context, and of one root, are one leak each; so are blocks
 * that a weak pointer of one rule leads to, and those of one context that are reached through
 * them. Blocks of ancestors, whose contexts are not here, count as those of one context. REACHABLE
 * ones are told apart by rule, and by where their chain begins.
 */
void seep_verdicts_judge(struct seep_profile *profile, struct scan_result *result,
			 struct seep_suppressions *suppressions,
			 const struct seep_verdict_options *options);

#endif
