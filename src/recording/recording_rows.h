/* SPDX-License-Identifier: MIT */
/* Rows of a recording's tables, to and from the structs of recording_schema.h. */
#ifndef SEEP_RECORDING_RECORDING_ROWS_H
#define SEEP_RECORDING_RECORDING_ROWS_H

#include "recording/recording_schema.h"

#include <sqlite3.h>

/*
 * The rows of all tables. Zeroed but for db; to be finished by seep_row_writer_done(), whatever
 * happens. Errors stick in rc.
 */
struct seep_row_writer {
	struct sqlite3 *db;
	struct {
		sqlite3_stmt *insert; /* NULL: not used yet */
		uint64_t count;	      /* rows so far */
	} tables[SEEP_TABLE_COUNT];
	const char *negative; /* the table of a count that no reader would take; NULL: none */
	int rc;
};

/* @row: of the table's struct; its texts must stay until this returns. Returns its number, from 1. */
uint64_t seep_row_put(struct seep_row_writer *writer, enum seep_table_id id, const void *row);

/* Release; returns 0 or the first error of all rows. */
SEEP_NODISCARD int seep_row_writer_done(struct seep_row_writer *writer, struct seep_error *err);

/* Which of our tables and columns a file has. */
struct seep_sql_found {
	uint32_t schema; /* the file's own; SEEP_SCHEMA for a later one, which has all of it */
	bool tables[SEEP_TABLE_COUNT];
	uint64_t columns[SEEP_TABLE_COUNT]; /* bits */
};

/**
 * seep_sql_look - see to it that a file has what its schema has
 *
 * Each must be an ordinary table with ordinary columns: a view, a virtual table or a computed
 * column would run what the file's author wrote. What a schema later than the file's own has added
 * may be missing, and what is not known here is passed over.
 *
 * Returns: 0, or -SEEP_ECORRUPT, -SEEP_ESYS.
 */
SEEP_NODISCARD int seep_sql_look(struct sqlite3 *db, struct seep_sql_found *ret_found,
				 struct seep_error *err);

/* SQLite's error as ours: @rc is damage, or the system's refusal. SQLITE_OK gives 0. */
int seep_db_fail(struct sqlite3 *db, int rc, struct seep_error *err);

/* The name of our layer under SQLite: the usual one, for paths as long as the system takes. */
const char *seep_db_vfs(void) __attribute__((returns_nonnull));

struct seep_loading; /* recording_load.c's */

struct seep_row_reader {
	struct sqlite3 *db;
	struct seep_sql_found found;
	struct seep_builder builder; /* gets the texts; its held_bytes bounds the rows */
	struct seep_error *err;
};

/**
 * seep_sql_read - all rows of a table, in the order of their keys; of one that is missing, none
 * @each:    gets each row, of the table's struct, which is gone with the next one; of a table that has
 *           a place in profiles the rows there. What it returns below 0 ends the reading; NULL:
 *           nothing is left to do
 * @loading: handed to @each
 *
 * Returns: 0, what @each returned, -SEEP_ECORRUPT, -SEEP_ESYS or -SEEP_ELIMIT.
 */
SEEP_NODISCARD int seep_sql_read(struct seep_row_reader *reader, enum seep_table_id id,
				 int (*each)(struct seep_loading *loading, void *row),
				 struct seep_loading *loading);

#endif
