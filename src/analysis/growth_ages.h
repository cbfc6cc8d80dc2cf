/* SPDX-License-Identifier: MIT */
/*
 * How old the live blocks of a context are, by the epochs in which they were allocated: which are
 * there too long, and whether some of each cohort stay. docs/internals/growth.md
 */
#ifndef SEEP_ANALYSIS_GROWTH_AGES_H
#define SEEP_ANALYSIS_GROWTH_AGES_H

#include "profile/profile.h"

/* Blocks of epochs up to last_epoch that are there too long; blocks 0: none. */
struct seep_growth_old {
	uint32_t last_epoch;
	uint64_t blocks;
	uint64_t bytes;
	uint64_t since_ns; /* all of them were allocated before; cohorts: after */
	uint64_t until_ns;
};

/* Of a context that frees most of its blocks: what its epochs tell. */
struct seep_growth_ages {
	struct seep_growth_old stale;
	uint64_t stale_age_ns; /* below it no block is stale; raised when stale ones are freed */
	uint64_t freed_late;
	uint64_t allocs; /* of the context, when these were looked at */
	/* Old in the newest epoch of which there is such, and before it; until_ns: fewer were left. */
	struct seep_growth_old old[2];
	/* As many of each cohort stay: they never go. Bytes and times alone. */
	struct seep_growth_old cohorts;
	uint64_t live_blocks; /* of the context, when they counted last */
	bool growing;
	bool returned; /* half of the context, or more, went after that */
};

/*
 * A reading of @context of @profile at @now_ns. *@ages: NULL at first, and until there is something
 * to note; release with free().
 */
void seep_growth_ages_add(struct seep_growth_ages **ages, const struct seep_profile *profile,
			  const struct seep_profile_context *context, uint64_t after_ns,
			  uint64_t now_ns);

/*
 * Of the live bytes of @context: by how much two readings may differ when nothing has changed, in 95
 * of 100 cases no more; 0: they are exact.
 */
uint64_t seep_growth_error(const struct seep_profile_context *context);

/* When @epoch began, by the marks, which are in the order of epochs; UINT64_MAX: it has not. */
uint64_t seep_epoch_start_ns(const struct seep_profile *profile, uint32_t epoch);

#endif
