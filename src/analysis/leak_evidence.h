/* SPDX-License-Identifier: MIT */
/* What speaks for a leak's verdict, in words. */
#ifndef SEEP_ANALYSIS_LEAK_EVIDENCE_H
#define SEEP_ANALYSIS_LEAK_EVIDENCE_H

#include "profile/profile.h"
#include "scan/scan.h"

#include <stdbool.h>

/* "start", "new-array", "interior" ... of an enum scan_rule; NULL: none. Static storage. */
const char *seep_scan_rule_name(unsigned rule);

/*
 * One sentence of the block with index @block of @result; NULL: there is nothing to say.
 * @verdict: its leak's. Release with free().
 */
char *seep_leak_evidence(const struct scan_result *result, uint64_t block, unsigned verdict);

/* The same of reachable blocks, of which only the rule and the enum scan_root_kind are known. */
char *seep_reach_evidence(unsigned rule, unsigned root);

/*
 * Did @context allocate before main()? Its stack is called by the loader, or by the start-up code
 * straight into a constructor.
 */
bool seep_leak_is_startup(const struct seep_profile *profile,
			  const struct seep_profile_context *context);

#endif
