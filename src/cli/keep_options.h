/* SPDX-License-Identifier: MIT */
/* The options --module, --thread and --scope of commands that show a part of a profile. */
#ifndef SEEP_CLI_KEEP_OPTIONS_H
#define SEEP_CLI_KEEP_OPTIONS_H

#include "analysis/sites.h"
#include "cli/options.h"

struct seep_keep_option_values {
	struct seep_option_list modules;
	struct seep_option_list threads;
	struct seep_option_list scopes;
};

#define SEEP_SCOPE_OPTION(list, Show)                 \
	SEEP_OPTION("scope", 0, LIST, "GLOB", (list), \
		    Show " only what was allocated under such a tag; !GLOB: not under these")

/* Lines of a command's table; @values is a struct seep_keep_option_values. */
#define SEEP_KEEP_OPTIONS(values, Show)                                                          \
	SEEP_OPTION("module", 0, LIST, "GLOB", (values).modules,                                 \
		    Show " only stacks through these modules; !GLOB: not through these"),        \
		SEEP_OPTION("thread", 0, LIST, "GLOB", (values).threads,                         \
			    Show " only what threads of this name allocated; !GLOB: not these"), \
		SEEP_SCOPE_OPTION((values).scopes, Show)

/* Whether anything was asked for. */
bool seep_keep_options_any(const struct seep_keep_option_values *values);

/* Returns 0, or -SEEP_EUSAGE: a glob is none. */
SEEP_NODISCARD int seep_keep_options_check(const struct seep_keep_option_values *values,
					   struct seep_error *err);

/**
 * seep_keep_options_apply - leave out of @profile what was not asked for
 * @sites:     of @profile; not looked at where nothing was asked for
 * @ret_shown: what is left, in words, released with free(); NULL: all
 *
 * Returns: 0, or as seep_keep_check().
 */
SEEP_NODISCARD int seep_keep_options_apply(const struct seep_keep_option_values *values,
					   struct seep_profile *profile,
					   const struct seep_sites *sites, char **ret_shown,
					   struct seep_error *err);

#endif
