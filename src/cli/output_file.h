/* SPDX-License-Identifier: MIT */
/* What commands write where the user says: --json, --html, -o. */
#ifndef SEEP_CLI_OUTPUT_FILE_H
#define SEEP_CLI_OUTPUT_FILE_H

#include <stdbool.h>

#include "base/error.h"
#include "base/file.h"
#include "cli/options.h"
#include "view/view.h"

/*
 * 0, -SEEP_EUSAGE: @path is empty, or -SEEP_EEXIST: the file at @path is a recording or a ledger,
 * which has to stay. @what: what would replace it, "JSON".
 */
SEEP_NODISCARD int seep_output_check(const char *path, const char *what, struct seep_error *err);

/**
 * seep_output_begin - begin to write the file at @path, all or nothing
 * @path:     NULL: standard output; what it did not take shows in its ferror()
 * @what:     as in seep_output_check(), whose refusal this gives as well
 * @ret_file: filled on success only; end with seep_output_end()
 *
 * Its mode is 0600. Into a link, pipe or device it is written as a shell's ">" does.
 *
 * Returns: 0, or as seep_output_check(), or -SEEP_ESYS: the file cannot be written.
 */
SEEP_NODISCARD int seep_output_begin(const char *path, const char *what,
				     struct seep_atomic_file *ret_file, struct seep_error *err);
SEEP_NODISCARD int seep_output_end(struct seep_atomic_file *file, struct seep_error *err);

/* A line of a command's table; @value is a const char *. */
#define SEEP_JSON_OPTION(value)                                                                \
	SEEP_OPTION("json", 0, OPTIONAL, "JSON", value,                                        \
		    "Write everything as JSON to the file JSON, else (or with -) to standard " \
		    "output; \"strings\": to standard output, large numbers as strings")

/* The file that @value, which may be NULL, names; NULL: "", "-" and "strings" are standard output. */
const char *seep_json_file(const char *value);

/* Does @value ask for large numbers as strings? */
bool seep_json_strings(const char *value);

/* 0, or -SEEP_EEXIST: the file that @value names is a recording or a ledger, which has to stay. */
SEEP_NODISCARD int seep_json_check(const char *value, struct seep_error *err);

/**
 * seep_json_report - write @profile as JSON to where @value says
 * @value: of the option; a file is replaced unless seep_json_check() refuses it
 *
 * Returns: 0, or as seep_json_check(), or -SEEP_ESYS: the file cannot be written.
 */
SEEP_NODISCARD int seep_json_report(const char *value, const struct seep_profile *profile,
				    const struct seep_view_options *view, struct seep_error *err);

#endif
