/* SPDX-License-Identifier: MIT */
/* Rows of a SQL statement as a table, as JSON or as CSV. */
#ifndef SEEP_CLI_QUERY_OUTPUT_H
#define SEEP_CLI_QUERY_OUTPUT_H

#include <sqlite3.h>
#include <stdio.h>

#include "base/error.h"

enum seep_query_form {
	SEEP_QUERY_TABLE,
	SEEP_QUERY_JSON,
	SEEP_QUERY_JSON_STRINGS, /* integers as strings, for readers that have only doubles */
	SEEP_QUERY_CSV,
	SEEP_QUERY_SCRIPT, /* the first column as SQL statements */
};

/**
 * seep_query_print - run @statement to its end and print what it gives
 *
 * Table: as wide as the terminal, cells escaped; at most 100,000 rows, since it must see them all
 * before it prints. JSON: an array of objects, integers exact, blobs as hexadecimal text, bytes
 * that are not UTF-8 as \xNN inside the string (a backslash before an "x" as \x5c). CSV: quoted as
 * RFC 4180 has it, lines end with LF, NULL is an empty field. Script: line ends and tabs are kept.
 *
 * Returns: 0, or
 *   -SEEP_ELIMIT  a table of too many rows
 *   -SEEP_EUSAGE  JSON with two columns of one name
 *   1             SQLite failed; ask seep_query_fail()
 */
SEEP_NODISCARD int seep_query_print(sqlite3_stmt *statement, enum seep_query_form form, FILE *out,
				    struct seep_error *err);

#endif
