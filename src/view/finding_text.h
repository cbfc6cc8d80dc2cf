/* SPDX-License-Identifier: MIT */
/* Findings as sentences. */
#ifndef SEEP_VIEW_FINDING_TEXT_H
#define SEEP_VIEW_FINDING_TEXT_H

#include "base/xalloc.h"
#include "view/view.h"

/*
 * What was done wrong, and how often: "mismatched-free, 3 times: memory from new[] was freed by
 * delete". Nothing in it needs an escape.
 */
char *seep_finding_text(const struct seep_profile *profile,
			const struct seep_profile_finding *finding) SEEP_RETURNS_MEMORY;

/*
 * What leads where there are some: "2 heap errors: 1 mismatched-free, 1 double-free; the worst: memory
 * from new[] was freed by delete, in app::stop (src/app.cc:12)"; NULL: there are none. Release with free().
 */
char *seep_findings_answer(const struct seep_view *view);

#endif
