/* SPDX-License-Identifier: MIT */
/* Opening a recording so that neither the SQL nor the file can do harm. */
#include "cli/query_guard.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/units.h"
#include "profile/ledger_load.h"
#include "recording/recording.h"
#include "recording/recording_db.h"

enum {
	SQLITE_HEADER_BYTES = 100,
	APPLICATION_ID_AT = 68, /* big-endian, in the header */
	STEPS_PER_LOOK = 10000, /* virtual machine steps between looks at the clock */
};

#define HEAP_BYTES_MAX (2LL << 30)

/* ---- what is allowed ----------------------------------------------------------------------- */

static bool is_among(const char *name, const char *const *names)
{
	for (; *names; names++) {
		if (strcasecmp(name, *names) == 0)
			return true;
	}
	return false;
}

/* Those that only tell; an argument of the others would set something. */
static bool pragma_is_harmless(const char *name, const char *argument)
{
	static const char *const about_a_table[] = { "table_info",	 "table_xinfo",
						     "index_list",	 "index_info",
						     "index_xinfo",	 "table_list",
						     "foreign_key_list", NULL };
	static const char *const about_the_file[] = {
		"application_id", "user_version", "page_count",	     "page_size", "encoding",
		"database_list",  "quick_check",  "integrity_check", NULL
	};

	return is_among(name, about_a_table) || (!argument && is_among(name, about_the_file));
}

static bool function_is_harmless(const char *name)
{
	static const char *const harmful[] = { "load_extension", "readfile",	   "writefile",
					       "edit",		 "fts3_tokenizer", "zipfile",
					       "fsdir",		 "sqlite_dbpage",  NULL };

	return !is_among(name, harmful);
}

static int authorize(void *context, int action, const char *first, const char *second,
		     const char *database, const char *trigger)
{
	(void)context;
	(void)database;
	(void)trigger;
	switch (action) {
	case SQLITE_SELECT:
	case SQLITE_READ:
	case SQLITE_RECURSIVE:
		return SQLITE_OK;
	case SQLITE_FUNCTION:
		return second && function_is_harmless(second) ? SQLITE_OK : SQLITE_DENY;
	case SQLITE_PRAGMA:
		return first && pragma_is_harmless(first, second) ? SQLITE_OK : SQLITE_DENY;
	default:
		return SQLITE_DENY;
	}
}

/* ---- time ---------------------------------------------------------------------------------- */

static int look_at_clock(void *context)
{
	struct seep_query_guard *guard = context;

	guard->timed_out |= seep_query_watch_expired(guard->watch);
	return guard->timed_out;
}

/* ---- opening ------------------------------------------------------------------------------- */

/* SQLite would take an empty or foreign file until the first statement; say what it is before. */
static int check_header(const char *path, struct seep_error *err)
{
	unsigned char header[SQLITE_HEADER_BYTES];
	const unsigned char *id = header + APPLICATION_ID_AT;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	struct stat about;
	ssize_t got;
	int saved;

	if (fd < 0 && errno == ENOENT)
		return seep_fail(err, SEEP_ENOTFOUND, "%s: no such file", path);
	if (fd < 0)
		return seep_fail_errno(err, errno, "cannot open %s", path);
	if (fstat(fd, &about) != 0 || !S_ISREG(about.st_mode)) {
		(void)close(fd);
		return seep_fail(err, SEEP_ECORRUPT, "%s is not a regular file", path);
	}
	got = pread(fd, header, sizeof(header), 0);
	saved = errno;
	(void)close(fd);
	if (got < 0)
		return seep_fail_errno(err, saved, "cannot read %s", path);
	if (seep_profile_is_ledger(header, (size_t)got))
		return seep_fail(err, SEEP_EUNSUPPORTED,
				 "%s is a ledger, which \"seep report\" reads, not a recording",
				 path);
	if (got != sizeof(header) || memcmp(header, "SQLite format 3", 16) != 0)
		return seep_fail(err, SEEP_ECORRUPT, "%s is not a recording (no SQLite file)",
				 path);
	if (((uint32_t)id[0] << 24 | (uint32_t)id[1] << 16 | (uint32_t)id[2] << 8 | id[3]) !=
	    SEEP_RECORDING_APPLICATION_ID)
		return seep_fail(err, SEEP_EUNSUPPORTED,
				 "%s is a SQLite file, but not a recording of seep", path);
	return 0;
}

static void end_now(void *context)
{
	struct seep_query_guard *guard = context;

	guard->end(guard);
}

/* Before the authorizer stands, which denies what this does. */
static int harden(sqlite3 *db)
{
	int rc = seep_db_harden(db);

	(void)sqlite3_hard_heap_limit64(HEAP_BYTES_MAX);
	/* Functions that give tables say so by a CREATE TABLE, which the authorizer would deny. */
	(void)sqlite3_exec(db,
			   "SELECT 1 FROM json_each('[]'), json_tree('[]'), pragma_table_list,"
			   "pragma_table_info(''), pragma_table_xinfo(''), pragma_index_list('')"
			   " LIMIT 0",
			   NULL, NULL, NULL);
	return rc;
}

int seep_query_open(const char *path, uint64_t timeout_ns,
		    void (*end)(const struct seep_query_guard *), struct seep_query_guard *guard,
		    struct seep_error *err)
{
	int ret;

	*guard = (struct seep_query_guard){ .timeout_ns = timeout_ns, .end = end };
	guard->watch = seep_query_watch_start(timeout_ns, end_now, guard);
	ret = check_header(path, err);
	if (ret < 0)
		return ret;
	if (seep_db_open_immutable(path, &guard->db) != SQLITE_OK || harden(guard->db) != SQLITE_OK)
		return seep_query_fail(guard, err);
	(void)sqlite3_set_authorizer(guard->db, authorize, guard);
	sqlite3_progress_handler(guard->db, STEPS_PER_LOOK, look_at_clock, guard);
	return 0;
}

int seep_query_fail_timeout(const struct seep_query_guard *guard, struct seep_error *err)
{
	return seep_fail(err, SEEP_ELIMIT, "the statement took longer than %s",
			 seep_duration_text(guard->timeout_ns).text);
}

int seep_query_fail(const struct seep_query_guard *guard, struct seep_error *err)
{
	int code = guard->db ? sqlite3_errcode(guard->db) : SQLITE_NOMEM;

	if (guard->timed_out)
		return seep_query_fail_timeout(guard, err);
	switch (code & 0xff) {
	case SQLITE_AUTH:
		return seep_fail(err, SEEP_EUSAGE, "only reading is allowed here (%s)",
				 sqlite3_errmsg(guard->db));
	case SQLITE_NOMEM:
		return seep_fail(err, SEEP_ELIMIT, "the statement needs more than %s of memory",
				 seep_bytes_text(HEAP_BYTES_MAX).text);
	case SQLITE_CORRUPT:
	case SQLITE_NOTADB:
	case SQLITE_IOERR:
		return seep_fail(err, SEEP_ECORRUPT, "the recording is damaged (%s)",
				 sqlite3_errmsg(guard->db));
	case SQLITE_BUSY:
	case SQLITE_CANTOPEN:
	case SQLITE_READONLY:
		return seep_fail(err, SEEP_ESYS, "the recording cannot be read now (%s)",
				 sqlite3_errmsg(guard->db));
	default:
		return seep_fail(err, SEEP_EUSAGE, "%s", sqlite3_errmsg(guard->db));
	}
}

void seep_query_close(struct seep_query_guard *guard)
{
	(void)sqlite3_close(guard->db);
	guard->db = NULL;
	seep_query_watch_stop(guard->watch);
	guard->watch = NULL;
}
