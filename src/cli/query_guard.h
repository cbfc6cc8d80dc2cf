/* SPDX-License-Identifier: MIT */
/*
 * A recording opened for somebody's SQL: read-only, with a time limit, and with everything denied
 * that could change a file, open another one or run code. The recording itself is hostile input
 * too: a schema can carry views, triggers and virtual tables.
 */
#ifndef SEEP_CLI_QUERY_GUARD_H
#define SEEP_CLI_QUERY_GUARD_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "cli/query_watch.h"

struct seep_query_guard {
	sqlite3 *db;
	uint64_t timeout_ns;
	struct seep_query_watch *watch;
	void (*end)(const struct seep_query_guard *guard);
	bool timed_out;
};

/**
 * seep_query_open - open a recording for reading by SQL
 * @timeout_ns: of processor time, from now on; 0 = no limit
 * @end:        must end the process: SQLite is in the middle of a step that takes too long and
 *		cannot be interrupted. Called by another thread; see seep_query_watch_start()
 * @guard:      must stay where it is until _close; close it in any case
 *
 * Returns: 0, or
 *   -SEEP_ENOTFOUND     there is no such file
 *   -SEEP_ESYS          it cannot be opened
 *   -SEEP_ECORRUPT      it is not a SQLite file, or damaged
 *   -SEEP_EUNSUPPORTED  it is a SQLite file, but not a recording
 */
SEEP_NODISCARD int seep_query_open(const char *path, uint64_t timeout_ns,
				   void (*end)(const struct seep_query_guard *guard),
				   struct seep_query_guard *guard, struct seep_error *err);

/**
 * seep_query_fail - turn SQLite's last error into ours
 *
 * Returns: -SEEP_ELIMIT for the time limit, -SEEP_ECORRUPT for a damaged file, else -SEEP_EUSAGE.
 */
int seep_query_fail(const struct seep_query_guard *guard, struct seep_error *err);

/* -SEEP_ELIMIT, in the words for the time limit. */
int seep_query_fail_timeout(const struct seep_query_guard *guard, struct seep_error *err);

void seep_query_close(struct seep_query_guard *guard);

#endif
