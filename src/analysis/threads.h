/* SPDX-License-Identifier: MIT */
/* Figures by the name of the thread, of a profile that was recorded by thread, or by scope. */
#ifndef SEEP_ANALYSIS_THREADS_H
#define SEEP_ANALYSIS_THREADS_H

#include "analysis/group.h"

struct seep_thread {
	const char *name; /* NULL: of contexts that belong to no thread */
	uint32_t scope;	  /* index + 1; 0: of contexts in none */
	struct seep_counts counts;
};

struct seep_threads {
	uint32_t count;
	struct seep_thread items[]; /* largest first */
};

/* Whether any context says of which thread it is. */
bool seep_threads_known(const struct seep_profile *profile);

/**
 * seep_threads_new - sum by thread, the largest by @measure first
 * @group:  only its contexts; NULL = all, then @groups may be, too
 * @scopes: by innermost scope instead
 *
 * Never fails. Release with free().
 */
struct seep_threads *seep_threads_new(const struct seep_groups *groups,
				      const struct seep_profile *profile,
				      const struct seep_group *group, enum seep_measure measure,
				      bool scopes);

#endif
