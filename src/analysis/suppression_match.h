/* SPDX-License-Identifier: MIT */
/* Does a rule match a call stack? */
#ifndef SEEP_ANALYSIS_SUPPRESSION_MATCH_H
#define SEEP_ANALYSIS_SUPPRESSION_MATCH_H

#include "analysis/suppression_read.h"
#include "profile/profile.h"

#include <stdbool.h>

/* A rule of syntax "leak:": its pattern is found in the function, file or module of @frame. */
bool seep_suppression_fits_frame(const struct seep_suppression_rule *rule,
				 const struct seep_profile *profile,
				 const struct seep_profile_frame *frame);

/*
 * A valgrind block: its lines are the innermost frames of @context. valgrind's own stacks begin
 * with the allocation function, ours with its caller: a block may have it or not.
 */
bool seep_suppression_fits_stack(const struct seep_suppression_rule *rule,
				 const struct seep_profile *profile,
				 const struct seep_profile_context *context);

/* Does @pattern match a function that allocates blocks of this @kind; LEDGER_KIND_COUNT: of any? */
bool seep_suppression_is_allocation(struct core_glob pattern, unsigned kind);

/* The linkage name of the most usual function of this kind: "malloc", "_Znwm". Static storage. */
const char *seep_suppression_allocation(unsigned kind);

#endif
