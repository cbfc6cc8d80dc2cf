/* SPDX-License-Identifier: MIT */
/* What scopes allocated and hold: sums over their contexts, and over all scopes in which a tag is open. */
#ifndef SEEP_ANALYSIS_SCOPE_SUMS_H
#define SEEP_ANALYSIS_SCOPE_SUMS_H

#include "analysis/counts.h"

struct seep_scope_sums {
	struct seep_counts own; /* while it was the innermost */
	struct seep_counts all; /* with those in it */
};

/* A tag, wherever it was open. */
struct seep_scope_tag {
	const char *tag;
	struct seep_profile_scope figures; /* summed; no parent */
	struct seep_scope_sums sums;
};

struct seep_scopes {
	struct seep_scope_sums *scopes; /* by scope */
	struct seep_scope_tag *tags;	/* most held first, then most allocated */
	uint32_t tag_count;
};

/* Never fails. */
void seep_scopes_init(struct seep_scopes *scopes, const struct seep_profile *profile);
void seep_scopes_done(struct seep_scopes *scopes);

/* Is a tag that @glob matches open in @scope, an index + 1? 0: there is none. */
bool seep_scope_has_tag(const struct seep_profile *profile, uint32_t scope, const char *glob);

#endif
