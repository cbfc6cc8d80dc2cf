/* SPDX-License-Identifier: MIT */
/*
 * Leaks and findings that somebody has decided not to hear of: rules in LeakSanitizer's syntax
 * ("leak:pattern", "misuse:pattern"), valgrind's ("{ name Memcheck:Leak fun:... obj:... src:... ...
 * }"), or a hash ("hash:16 hex digits"), and a list of ours for what the C library, the C++ library and the loader
 * keep to the end. A file may mix them. docs/suppressions.md.
 */
#ifndef SEEP_ANALYSIS_SUPPRESSIONS_H
#define SEEP_ANALYSIS_SUPPRESSIONS_H

#include "base/error.h"
#include "profile/profile.h"

#include <stddef.h>

struct seep_suppressions;

/* With the default list. Never fails. */
struct seep_suppressions *seep_suppressions_new(void) __attribute__((returns_nonnull));

/* NULL is a no-op. */
void seep_suppressions_free(struct seep_suppressions *suppressions);
SEEP_FREE_AT(struct seep_suppressions, seep_suppressions_free)

/**
 * seep_suppressions_read - add the rules of the file at @path
 *
 * Returns: 0, or -SEEP_ENOTFOUND, -SEEP_ESYS, -SEEP_ELIMIT (over 16 MB), -SEEP_ECORRUPT (the
 * sentence names the line: unknown syntax, a rule of wildcards alone).
 */
SEEP_NODISCARD int seep_suppressions_read(struct seep_suppressions *suppressions, const char *path,
					  struct seep_error *err);

/* The same from a text, e.g. what __lsan_default_suppressions() of the program returned. */
SEEP_NODISCARD int seep_suppressions_add(struct seep_suppressions *suppressions, const char *text,
					 size_t bytes, const char *name, struct seep_error *err);

enum seep_suppression_effect { SEEP_NOT_SUPPRESSED, SEEP_IS_SUPPRESSED, SEEP_IS_RUNTIME };

/*
 * Contexts are of @profile from here on, and nothing was hit yet. Its frames must not change, nor
 * rules be added, until contexts are of another one.
 */
void seep_suppressions_begin(struct seep_suppressions *suppressions,
			     const struct seep_profile *profile);

/*
 * What the rules say of blocks of this context with this @verdict: the first rule that was given
 * and matches, else SEEP_IS_RUNTIME by the default list, else SEEP_NOT_SUPPRESSED. @ret_rule: its
 * index for seep_suppressions_hit(), set when there is one.
 */
enum seep_suppression_effect seep_suppressions_match(struct seep_suppressions *suppressions,
						     const struct seep_profile_context *context,
						     unsigned verdict, size_t *ret_rule);

/* @leak is suppressed by this rule: say so there, and count it for seep_suppressions_tell(). */
void seep_suppressions_hit(struct seep_suppressions *suppressions, size_t rule,
			   struct seep_profile *profile, struct seep_profile_leak *leak);

/*
 * Say in each finding of @profile, which seep_suppressions_begin() was told of, that the first rule
 * that matches suppresses it, and count that. Those that none matches stay as they are.
 */
void seep_suppressions_find(struct seep_suppressions *suppressions, struct seep_profile *profile);

/* How many findings of @profile nothing suppresses. */
uint32_t seep_findings_count(const struct seep_profile *profile);

/*
 * Those that were given, used or not, and those of the default list that hit, to profile->scan: in
 * front of what is told there already.
 */
void seep_suppressions_tell(const struct seep_suppressions *suppressions,
			    struct seep_profile *profile);

/*
 * A rule that matches this leak's context and little else, in valgrind's syntax; of a leak without
 * a call stack its hash, or a comment. Release with free().
 */
char *seep_suppressions_generate(const struct seep_profile *profile,
				 const struct seep_profile_leak *leak)
	__attribute__((returns_nonnull));

#endif
