/* SPDX-License-Identifier: MIT */
/* SQLite under recordings: its files, its errors as ours. */
#ifndef SEEP_RECORDING_RECORDING_DB_H
#define SEEP_RECORDING_RECORDING_DB_H

#include "base/error.h"

#include <sqlite3.h>

/* The error for SQLite's @rc: damaged, or refused by the system. SQLITE_OK gives 0. */
int seep_db_fail(struct sqlite3 *db, int rc, struct seep_error *err);

/* The name of our layer under SQLite: the usual one, for paths as long as the system takes. */
const char *seep_db_vfs(void) __attribute__((returns_nonnull));

#endif
