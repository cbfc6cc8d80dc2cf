/* SPDX-License-Identifier: MIT */
/* SQLite's results as ours, and prepared statements that are filled and read in order. */
#ifndef SEEP_RECORDING_RECORDING_DB_H
#define SEEP_RECORDING_RECORDING_DB_H

#include "base/error.h"

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The error for SQLite's @rc: damaged, or refused by the system. SQLITE_OK gives 0. */
int seep_db_fail(struct sqlite3 *db, int rc, struct seep_error *err);

/* The name of our layer under SQLite: the usual one, for paths as long as the system takes. */
const char *seep_db_vfs(void) __attribute__((returns_nonnull));

/**
 * seep_db_open_immutable - open @path, read-only
 * @ret_db: set in any case, by SQLite's rule; release with sqlite3_close()
 *
 * SQLite reads no journal beside an immutable file and takes no lock, which is right for a file
 * that never changes after its rename, and reads it the same from a read-only directory.
 *
 * Returns: SQLite's code.
 */
int seep_db_open_immutable(const char *path, struct sqlite3 **ret_db);

/**
 * seep_db_harden - see to it that reading is all that @db and the file behind it can do
 *
 * No attached files, extensions, triggers or temporary files; functions with side effects are not
 * run from the file's schema; values, statements and patterns have ceilings; SQLite checks every
 * cell. Virtual tables, each of which reads bytes of the file as a format of its own, are taken
 * away but for json_each and json_tree, which recordings' views use.
 *
 * Returns: SQLite's code. The pragmas fail where the file is damaged.
 */
int seep_db_harden(struct sqlite3 *db);

/* An INSERT that is filled column by column. Errors stick in rc. */
struct seep_db_insert {
	struct sqlite3 *db;
	sqlite3_stmt *statement;
	int column;
	int rc;
};

/* @insert must be finished by seep_db_insert_done(), whatever this returns. */
void seep_db_insert_init(struct seep_db_insert *insert, struct sqlite3 *db, const char *sql);

/* Values above 2^63 - 1 become the negative number of the same 64 bits. */
void seep_db_put_number(struct seep_db_insert *insert, uint64_t value);
void seep_db_put_text(struct seep_db_insert *insert, const char *text); /* NULL stays NULL */
void seep_db_put_text_bytes(struct seep_db_insert *insert, const char *text, size_t bytes);
void seep_db_put_blob(struct seep_db_insert *insert, const void *bytes, uint32_t count);
void seep_db_put_null(struct seep_db_insert *insert);

/* Write the row and begin the next. */
void seep_db_insert_row(struct seep_db_insert *insert);

/* Release; returns 0 or the first error of all rows. */
SEEP_NODISCARD int seep_db_insert_done(struct seep_db_insert *insert, struct seep_error *err);

#endif
