/* SPDX-License-Identifier: MIT */
/*
 * The options --within, --without, --module, --thread and --scope of commands that show a part of a
 * profile.
 */
#ifndef SEEP_CLI_KEEP_OPTIONS_H
#define SEEP_CLI_KEEP_OPTIONS_H

#include "analysis/sites.h"
#include "cli/options.h"

struct seep_within_option_values {
	struct seep_option_list within;
	struct seep_option_list without;
	struct seep_profile_within asked;    /* the same, once they were read */
	bool used[2 * SEEP_OPTION_LIST_MAX]; /* by pattern, those of within first */
};

struct seep_keep_option_values {
	struct seep_within_option_values within;
	struct seep_option_list modules;
	struct seep_option_list threads;
	struct seep_option_list scopes;
};

/* Lines of a command's table; @values is a struct seep_within_option_values. */
#define SEEP_WITHIN_OPTIONS(values, Show)                                                       \
	SEEP_OPTION(                                                                            \
		"within", 0, LIST, "PATTERN", (values).within,                                  \
		Show                                                                            \
		" only what this function, FILE:LINE or module, and what it calls, allocated"), \
		SEEP_OPTION("without", 0, LIST, "PATTERN", (values).without,                    \
			    "Leave out what this, and what it calls, allocated")

#define SEEP_SCOPE_OPTION(list, Show)                 \
	SEEP_OPTION("scope", 0, LIST, "GLOB", (list), \
		    Show " only what was allocated under such a tag; !GLOB: not under these")

/* @values is a struct seep_keep_option_values. */
#define SEEP_KEEP_OPTIONS(values, Show)                                                           \
	SEEP_WITHIN_OPTIONS((values).within, Show),                                               \
		SEEP_OPTION("module", 0, LIST, "GLOB", (values).modules,                          \
			    Show " only stacks through these modules; !GLOB: not through these"), \
		SEEP_OPTION("thread", 0, LIST, "GLOB", (values).threads,                          \
			    Show " only what threads of this name allocated; !GLOB: not these"),  \
		SEEP_SCOPE_OPTION((values).scopes, Show)

/* What was asked for; NULL: all. */
const struct seep_profile_within *seep_within_options_read(
	struct seep_within_option_values *values);

/*
 * Leave of @profile, which has names, what was asked for, and say so in its unseen. 0; -SEEP_ENOTFOUND:
 * of several profiles it is the last one, and a pattern named nothing in any.
 */
SEEP_NODISCARD int seep_within_options_apply(struct seep_within_option_values *values,
					     struct seep_profile *profile, bool is_last,
					     struct seep_error *err);

/* Returns 0, or -SEEP_EUSAGE: a glob is none. */
SEEP_NODISCARD int seep_keep_options_check(const struct seep_keep_option_values *values,
					   struct seep_error *err);

/**
 * seep_keep_options_apply - leave out of @profile what was not asked for
 * @ret_shown: what is left, in words, released with free(); NULL: all
 *
 * Returns: 0, or as seep_within_options_apply() and seep_keep_check().
 */
SEEP_NODISCARD int seep_keep_options_apply(struct seep_keep_option_values *values,
					   struct seep_profile *profile, char **ret_shown,
					   struct seep_error *err);

#endif
