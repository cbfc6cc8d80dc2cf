/* SPDX-License-Identifier: MIT */
/* SQLite under recordings: its files, what it is allowed, its errors as ours. */
#ifndef SEEP_RECORDING_RECORDING_DB_H
#define SEEP_RECORDING_RECORDING_DB_H

#include "base/error.h"

#include <sqlite3.h>

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

#endif
