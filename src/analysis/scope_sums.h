/* SPDX-License-Identifier: MIT */
/* What scopes allocated and hold: sums over their contexts, and over all scopes in which a tag is open. */
#ifndef SEEP_ANALYSIS_SCOPE_SUMS_H
#define SEEP_ANALYSIS_SCOPE_SUMS_H

#include "analysis/counts.h"
#include "base/xalloc.h"

struct seep_scope_sums {
	struct seep_counts own; /* while it was the innermost */
	struct seep_counts all; /* with those in it */
	int64_t own_old_bytes;	/* of own.live_bytes: of epochs before a given one */
	int64_t old_bytes;	/* of all.live_bytes */
};

/* A tag, wherever it was open. */
struct seep_scope_tag {
	const char *tag;
	uint32_t
		first; /* the first scope that has it: an index that stays, in what is read again */
	struct seep_profile_scope figures; /* summed; no parent */
	struct seep_scope_sums sums;
};

struct seep_scopes {
	struct seep_scope_sums *scopes; /* by scope */
	struct seep_scope_tag *tags;	/* most held first, then most allocated */
	uint32_t tag_count;
};

/*
 * @old_epoch: blocks of epochs before it are old
 * @part: not all contexts are there: what was entered counts where something is that was allocated in it
 *
 * Never fails.
 */
void seep_scopes_init(struct seep_scopes *scopes, const struct seep_profile *profile,
		      uint32_t old_epoch, bool part);
void seep_scopes_done(struct seep_scopes *scopes);

/*
 * The last epoch that began 10 s before @now_ns or earlier, and how long before; 0 and 0: there is none
 * but the first.
 */
uint32_t seep_scopes_old_epoch(const struct seep_profile *profile, uint64_t now_ns,
			       uint64_t *ret_age_ns);

/* How long it was open each time, of those that were left; 0 if none was. */
uint64_t seep_scope_mean_ns(const struct seep_profile_scope *scope);

/* Tags of @scope, an index + 1, and those around it, outermost first: "tenant=42/parse"; 0: "". */
char *seep_scope_path(const struct seep_profile *profile, uint32_t scope) SEEP_RETURNS_MEMORY;

#endif
