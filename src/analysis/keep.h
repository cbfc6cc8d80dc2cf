/* SPDX-License-Identifier: MIT */
/*
 * Leaving out what a reader did not ask for: contexts without a frame in some module, of other threads
 * or scopes, and those that allocate nothing. What is left out stays in the totals, so shares remain shares of the whole.
 */
#ifndef SEEP_ANALYSIS_KEEP_H
#define SEEP_ANALYSIS_KEEP_H

#include "analysis/sites.h"

/* Patterns as in core/glob.h; one that begins with '!' excludes. None: no condition. */
struct seep_keep_globs {
	const char *const *items;
	size_t count;
};

/**
 * seep_keep - keep the contexts that meet all conditions; the others stand behind them, left out
 * @sites:   of @profile
 * @modules: of the last components of modules' paths; from main inwards, a frame of one that is
 *           named is needed unless all globs exclude, and a frame of one that is excluded rules a
 *           context out
 * @threads: of the name of the thread, "" where there is none
 * @scopes:  of the tags that were open: one of those that are named is needed unless all globs
 *           exclude, and none of those that are excluded may be there
 *
 * Who names contexts names the same ones as before, also those that are left out.
 */
void seep_keep(struct seep_profile *profile, const struct seep_sites *sites,
	       const struct seep_keep_globs *modules, const struct seep_keep_globs *threads,
	       const struct seep_keep_globs *scopes);

/* By scope, an index + 1, and of none, 0: would seep_keep() keep what was allocated in it? free() it. */
bool *seep_keep_of_scope(const struct seep_profile *profile, const struct seep_keep_globs *scopes);

/* Keep those contexts of which @wanted is set, by index; the others stand behind them, left out. */
void seep_keep_contexts(struct seep_profile *profile, const bool *wanted);

/*
 * Keep the contexts that allocate; those of findings, whose figures are 0, stand behind them. Whoever
 * shows or sums contexts need not know them then.
 */
void seep_keep_allocations(struct seep_profile *profile);

/**
 * seep_keep_check - see to it that each glob names something
 * @modules, @threads, @scopes: of modules that are in some stack, of threads, and of tags
 *
 * Returns: 0, or -SEEP_EUSAGE: what does not, the nearest name, and those that most stacks have.
 */
SEEP_NODISCARD int seep_keep_check(const struct seep_sites *sites,
				   const struct seep_keep_globs *modules,
				   const struct seep_keep_globs *threads,
				   const struct seep_keep_globs *scopes, struct seep_error *err);

#endif
