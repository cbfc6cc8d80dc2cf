/* SPDX-License-Identifier: MIT */
/* The options --symbols and --debuginfod of all commands that look up names and lines. */
#ifndef SEEP_CLI_SYMBOL_OPTIONS_H
#define SEEP_CLI_SYMBOL_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "cli/options.h"
#include "profile/profile.h"
#include "symbol/symbol.h"

struct seep_symbol_option_values {
	struct seep_option_list dirs;
	bool debuginfod;
};

/* The last lines of a command's table; @values is a struct seep_symbol_option_values. */
#define SEEP_SYMBOL_OPTIONS(values)                                                     \
	SEEP_OPTION("symbols", 0, LIST, "DIR", (values).dirs,                           \
		    "Look for programs, libraries and their debug files in DIR first"), \
		SEEP_OPTION("debuginfod", 0, FLAG, NULL, (values).debuginfod,           \
			    "Ask the servers in DEBUGINFOD_URLS for what seep finds nowhere else")

/**
 * seep_symbol_options_read - what the options ask for
 * @ret: borrows from @values
 *
 * Returns: 0, or
 *   -SEEP_EUSAGE        a directory cannot be searched, or no server is named
 *   -SEEP_EUNSUPPORTED  what asks servers is not installed
 */
SEEP_NODISCARD int seep_symbol_options_read(const struct seep_symbol_option_values *values,
					    struct seep_symbols_options *ret,
					    struct seep_error *err);

/*
 * Process @pid is looked at: where it sees other files than we do, its own are looked for first, after
 * those that the options name. They can be had when it has ended, too.
 */
void seep_symbol_options_see(uint32_t pid);

/*
 * Look up the names of @profile. A ledger holds addresses only. A recording holds the names, and
 * what was missing is looked up when the options say where. Errors as above.
 */
SEEP_NODISCARD int seep_symbol_options_name(const struct seep_symbol_option_values *values,
					    struct seep_profile *profile, struct seep_error *err);

/*
 * seep_profile_open(), with the names looked up, the contexts hashed, and those that allocate kept.
 * @ret_profile is set on success only. Errors of both.
 */
SEEP_NODISCARD int seep_symbol_options_open(const struct seep_symbol_option_values *values,
					    const char *path, struct seep_profile **ret_profile,
					    struct seep_error *err);

#endif
