/* SPDX-License-Identifier: MIT */
/* One finding as a sentence. */
#ifndef SEEP_VIEW_FINDING_TEXT_H
#define SEEP_VIEW_FINDING_TEXT_H

#include "base/xalloc.h"
#include "profile/profile.h"

/*
 * What was done wrong, and how often: "mismatched-free, 3 times: memory from new[] was freed by
 * delete". Nothing in it needs an escape.
 */
char *seep_finding_text(const struct seep_profile *profile,
			const struct seep_profile_finding *finding) SEEP_RETURNS_MEMORY;

#endif
