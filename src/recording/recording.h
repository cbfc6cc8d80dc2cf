/* SPDX-License-Identifier: MIT */
/*
 * The recording: one profile in one SQLite file (.seep), symbols inside, readable by any SQLite
 * client. docs/recording.md describes the schema. A recording is written once, under a temporary
 * name, and never changed afterwards; readers rely on that.
 */
#ifndef SEEP_RECORDING_RECORDING_H
#define SEEP_RECORDING_RECORDING_H

#include "base/error.h"

#include <fcntl.h> /* AT_FDCWD */
#include <stdbool.h>

struct seep_profile;
struct seep_sql_found;
struct sqlite3;

/* In the file's header, for file(1) and for us: "SEEP". */
#define SEEP_RECORDING_APPLICATION_ID 0x53454550

/* Raised when an older seep would misread a recording; new tables and columns do not. */
enum { SEEP_RECORDING_VERSION = 2 };

/**
 * seep_recording_write - write @profile to @path, all or nothing
 *
 * @folder_fd: as for seep_atomic_open()
 * @replace:   a file of that name; otherwise one that is there when all is written is kept
 *
 * The result has mode 0600 and is on disk when this returns; on
 * failure, or when the process is killed meanwhile, @path is as it was.
 *
 * Returns: 0, or
 *   -SEEP_ESYS    the file cannot be created or written
 *   -SEEP_EEXIST  it exists and was not to be replaced
 *   -SEEP_ECORRUPT, -SEEP_ELIMIT  @profile's figures are such that seep_recording_load() would
 *                 refuse them
 */
SEEP_NODISCARD int seep_recording_write(int folder_fd, const char *path,
					const struct seep_profile *profile, bool replace,
					struct seep_error *err);

/* "recording" or "ledger", of any version; NULL: the file is neither, or cannot be looked at. */
const char *seep_profile_file_kind(const char *path);

/**
 * seep_recording_load - read the whole recording at @path
 * @ret_profile: set on success only; release with seep_profile_free()
 *
 * The file may be hostile: ids, counts and lengths are checked, views and triggers in it are not
 * run, and it is never written to, nor are files next to it read.
 *
 * Returns: 0, or
 *   -SEEP_ENOTFOUND  there is no such file
 *   -SEEP_ESYS       it cannot be read
 *   -SEEP_ECORRUPT   it is not a recording, or damaged
 *   -SEEP_EVERSION   a newer seep wrote it
 *   -SEEP_ELIMIT     it holds more than a profile can
 */
SEEP_NODISCARD int seep_recording_load(const char *path, struct seep_profile **ret_profile,
				       struct seep_error *err);

/**
 * seep_recording_open_database - the recording's database, for queries
 * @ret_db:    set on success only; release with sqlite3_close()
 * @ret_found: which tables and columns it has (recording_rows.h); may be NULL
 *
 * Read-only, defensive, without attached files, extensions or functions with side effects in
 * views. Errors as for seep_recording_load(), but for the last.
 */
SEEP_NODISCARD int seep_recording_open_database(const char *path, struct sqlite3 **ret_db,
						struct seep_sql_found *ret_found,
						struct seep_error *err);

/**
 * seep_profile_open - load whatever @path is: a recording, or the ledger of a process
 *
 * Errors as for seep_recording_load() and seep_profile_load_ledger(); -SEEP_ECORRUPT when it is
 * neither.
 */
SEEP_NODISCARD int seep_profile_open(const char *path, struct seep_profile **ret_profile,
				     struct seep_error *err);

#endif
