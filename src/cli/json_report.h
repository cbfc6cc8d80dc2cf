/* SPDX-License-Identifier: MIT */
/* The option --json of commands that report a profile. */
#ifndef SEEP_CLI_JSON_REPORT_H
#define SEEP_CLI_JSON_REPORT_H

#include <stdbool.h>
#include <stdio.h>

#include "base/error.h"
#include "view/view.h"

/* Does @value, which may be NULL, name a file? "", "-" and "strings" are standard output. */
bool seep_json_is_file(const char *value);

/* 0, or -SEEP_EEXIST: the file that @value names is a recording or a ledger, which has to stay. */
SEEP_NODISCARD int seep_json_check(const char *value, struct seep_error *err);

/**
 * seep_json_write - have @write write @what to where @value says
 *
 * Returns as seep_json_report().
 */
SEEP_NODISCARD int seep_json_write(const char *value,
				   void (*write)(FILE *out, const void *what, bool strings),
				   const void *what, struct seep_error *err);

/**
 * seep_json_report - write @profile as JSON to where @value says
 * @value: of the option; a file is replaced unless seep_json_check() refuses it
 *
 * What could not be written to standard output shows in its ferror().
 *
 * Returns: 0, or as seep_json_check(), or -SEEP_ESYS: the file cannot be written.
 */
SEEP_NODISCARD int seep_json_report(const char *value, const struct seep_profile *profile,
				    const struct seep_view_options *view, struct seep_error *err);

#endif
