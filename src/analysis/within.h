/* SPDX-License-Identifier: MIT */
/*
 * What a function and all that it calls allocated: the contexts whose stacks pass through places in
 * the code. A pattern, as in core/glob.h, is compared with names of functions, as reports write them and
 * in full; one with a '.' or '/' also with files and FILE:LINE, of whose paths the first parts may
 * be missing, and with modules' file names and paths. "function:" or "module:" in front of it says
 * that it is nothing else.
 */
#ifndef SEEP_ANALYSIS_WITHIN_H
#define SEEP_ANALYSIS_WITHIN_H

#include "analysis/counts.h"
#include "analysis/sites.h"
#include "base/error.h"

struct seep_symbols;

/* An answer about a stack. */
enum seep_whether {
	SEEP_NO,
	SEEP_YES,
	SEEP_PERHAPS, /* the stack is not whole, or code of the program's has no name */
};

/*
 * What patterns say of each frame of @sites; release with free().
 * @ret_used: set where a pattern names a frame; may be NULL
 */
unsigned char *seep_within_frames(const struct seep_sites *sites, const char *const *patterns,
				  size_t count, bool *ret_used);

/*
 * Whether a stack passes through a place of @frames. What comes before main is no module's: it is
 * libc's in all stacks. @context NULL: its stack is not here.
 */
enum seep_whether seep_within_stack(const struct seep_sites *sites, const unsigned char *frames,
				    const struct seep_profile_context *context);

/**
 * seep_within - leave of @profile what was asked for
 * @sites: of its frames; those of a profile that it is a copy of will do
 * @used:  set for each pattern that names a frame, those of within first; may be NULL
 *
 * Leaks and findings of other stacks are gone, and the totals are the sums of the contexts that are
 * there. What is known of the process alone is 0, and seep_profile_knows() denies it. Findings are
 * there if such a stack made them, or allocated their block: the other contexts, which may be those
 * of findings, stand behind the rest without figures. Never fails.
 *
 * Returns: the sums of contexts that were left out though they may belong to it (SEEP_PERHAPS).
 */
struct seep_counts seep_within(struct seep_profile *profile, const struct seep_sites *sites,
			       const struct seep_profile_within *within, bool *used);

/*
 * The same of @copy, which is zeroed, or of an earlier reading: it becomes @whole, a ledger's, without leaks
 * and rows. Contexts that were there come first. Release its arena. Returns @copy; @whole, without
 * names, if @within is NULL.
 */
struct seep_profile *seep_within_copy(struct seep_profile *whole, struct seep_symbols *symbols,
				      const struct seep_profile_within *within,
				      struct seep_profile *copy) __attribute__((returns_nonnull));

/* Returns -SEEP_ENOTFOUND: no stack passes through @pattern; and the nearest name, if one is near. */
SEEP_NODISCARD int seep_within_fail(const struct seep_profile *profile, const char *pattern,
				    struct seep_error *err);

#endif
