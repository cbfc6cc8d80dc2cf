/* SPDX-License-Identifier: MIT */
/* Lines for a terminal. All errors are printed here: to standard error, once, escaped. */
#ifndef SEEP_CLI_COMPLAIN_H
#define SEEP_CLI_COMPLAIN_H

#include "base/error.h"

#include <stdio.h>

/* A line that may have anything in it: control bytes are escaped. */
void seep_print_escaped(FILE *out, const char *fmt, ...) SEEP_PRINTF(2, 3);

/**
 * seep_complain - print "seep <command>: <sentence>"
 * @command: may be NULL when no command is involved
 *
 * Returns: the exit status that fits.
 */
int seep_complain(const char *command, const struct seep_error *err);

/* The same for a sentence of the caller's own. */
void seep_complainf(const char *command, const char *fmt, ...) SEEP_PRINTF(2, 3);

/* After a complaint: what to do about it, on a line of its own. */
void seep_hint(const char *fmt, ...) SEEP_PRINTF(1, 2);

#endif
