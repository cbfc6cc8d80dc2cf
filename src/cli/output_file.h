/* SPDX-License-Identifier: MIT */
/* Files that commands write where the user says: --json, --html, -o. */
#ifndef SEEP_CLI_OUTPUT_FILE_H
#define SEEP_CLI_OUTPUT_FILE_H

#include <stdio.h>

#include "base/error.h"

/*
 * 0, -SEEP_EUSAGE: @path is empty, or -SEEP_EEXIST: the file at @path is a recording or a ledger,
 * which has to stay. @what: what would replace it, "JSON".
 */
SEEP_NODISCARD int seep_output_check(const char *path, const char *what, struct seep_error *err);

/**
 * seep_output_write - have @write write @value to the file at @path, all or nothing
 * @what: as in seep_output_check(), whose refusal this gives as well
 *
 * Its mode is 0600. Into a link, pipe or device it is written as a shell's ">" does.
 *
 * Returns: 0, or as seep_output_check(), or -SEEP_ESYS: the file cannot be written.
 */
SEEP_NODISCARD int seep_output_write(const char *path, const char *what,
				     void (*write)(FILE *out, const void *value), const void *value,
				     struct seep_error *err);

#endif
