/* SPDX-License-Identifier: MIT */
/* Opening a file that may have been made to harm its reader. */
#include "recording/recording.h"

#include "base/strbuf.h"
#include "profile/ledger_load.h"
#include "recording/recording_rows.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	HEAD_BYTES = 100,
	PAGE_BYTES_AT = 16,
	CHANGES_AT = 24,
	PAGES_AT = 28,
	USER_VERSION_AT = 60,
	APPLICATION_ID_AT = 68,
	PAGES_VALID_FOR_AT = 92,

	URI_BYTES_MAX = 3 * PATH_MAX + 64,
	VALUE_BYTES_MAX = 16 * 1024 * 1024, /* of one text, blob or row */
	SQL_BYTES_MAX = 1024 * 1024,
	PATTERN_BYTES_MAX = 1000,
};

static uint32_t big_endian(const unsigned char *bytes)
{
	return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 |
	       (uint32_t)bytes[3];
}

static bool is_recording(const void *head, size_t bytes)
{
	static const char magic[16] = "SQLite format 3";
	const unsigned char *at = head;

	return bytes >= HEAD_BYTES && memcmp(head, magic, sizeof(magic)) == 0 &&
	       big_endian(at + APPLICATION_ID_AT) == SEEP_RECORDING_APPLICATION_ID;
}

struct head {
	unsigned char bytes[HEAD_BYTES];
	size_t count;
	uint64_t file_bytes;
};

/* The first bytes of a regular file. */
static int read_head(const char *path, struct head *ret_head, struct seep_error *err)
{
	SEEP_CLOSED int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st;
	ssize_t got;

	if (fd < 0 && errno == ENOENT)
		return seep_fail(err, SEEP_ENOTFOUND, "%s: no such file", path);
	if (fd < 0)
		return seep_fail_errno(err, errno, "cannot open %s", path);
	if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode))
		return seep_fail(err, SEEP_ECORRUPT, "%s: not a regular file", path);
	got = pread(fd, ret_head->bytes, HEAD_BYTES, 0);
	if (got < 0)
		return seep_fail_errno(err, errno, "cannot read %s", path);
	ret_head->count = (size_t)got;
	ret_head->file_bytes = (uint64_t)st.st_size;
	return 0;
}

const char *seep_profile_file_kind(const char *path)
{
	struct head head;
	struct stat st;

	/* Opening a device can have effects. */
	if (stat(path, &st) != 0 || !S_ISREG(st.st_mode) || read_head(path, &head, NULL) < 0)
		return NULL;
	if (seep_profile_is_ledger(head.bytes, head.count))
		return "ledger";
	return is_recording(head.bytes, head.count) ? "recording" : NULL;
}

/*
 * SQLite takes what is missing of the last page for zeros. Its header has the number of pages, if
 * whoever changed the file last has written it there.
 */
static bool is_cut(const struct head *head)
{
	const uint32_t changes = big_endian(head->bytes + CHANGES_AT);
	const uint32_t pages = big_endian(head->bytes + PAGES_AT);
	uint64_t page_bytes = big_endian(head->bytes + PAGE_BYTES_AT) >> 16;

	if (page_bytes == 1) /* does not fit in two bytes */
		page_bytes = 65536;
	return changes == big_endian(head->bytes + PAGES_VALID_FOR_AT) &&
	       head->file_bytes < page_bytes * pages;
}

static int check_head(const char *path, struct seep_error *err)
{
	struct head read = { .count = 0 };
	const unsigned char *head = read.bytes;
	int r = read_head(path, &read, err);

	if (r < 0)
		return r;
	if (!is_recording(head, read.count))
		return seep_fail(
			err, SEEP_ECORRUPT,
			"%s: not a recording; if it is a ledger, \"seep save\" makes one of it",
			path);
	if (big_endian(head + USER_VERSION_AT) != SEEP_RECORDING_VERSION)
		return seep_fail(
			err, SEEP_EVERSION,
			"%s: another version of seep wrote it (format %u, this seep reads %d); "
			"read it with that one",
			path, big_endian(head + USER_VERSION_AT), SEEP_RECORDING_VERSION);
	if (is_cut(&read))
		return seep_fail(err, SEEP_ECORRUPT, "%s: damaged: its end is missing", path);
	return 0;
}

/* "file:<path, escaped>?immutable=1" */
static void make_uri(struct seep_strbuf *uri, const char *path)
{
	seep_strbuf_adds(uri, path[0] == '/' ? "file://" : "file:");
	for (const char *at = path; *at; at++) {
		if (isalnum((unsigned char)*at) || strchr("/._-", *at))
			seep_strbuf_addc(uri, *at);
		else
			seep_strbuf_addf(uri, "%%%02x", (unsigned char)*at);
	}
	seep_strbuf_adds(uri, "?immutable=1");
}

/*
 * SQLite reads no journal beside an immutable file and takes no lock, which is right for a file
 * that never changes after its rename, and reads it the same from a read-only directory.
 */
static int open_immutable(const char *path, struct sqlite3 **ret_db)
{
	const int flags = SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX;
	SEEP_STRBUF(uri, URI_BYTES_MAX);

	make_uri(&uri, path);
	return sqlite3_open_v2(uri.text, ret_db, flags, seep_db_vfs());
}

static int drop_virtual_tables(struct sqlite3 *db)
{
	/* The parameter lacks const; nothing is written. */
	static const char *kept[] = { "json_each", "json_tree", NULL };

	/* It reads what goes with the modules. */
	for (int arguments = 1; arguments <= 2; arguments++)
		(void)sqlite3_create_function(db, "fts3_tokenizer", arguments, SQLITE_UTF8, NULL,
					      NULL, NULL, NULL);
	return sqlite3_drop_modules(db, kept);
}

/*
 * Reading is all that is left: no attached files, extensions, triggers or temporary files;
 * functions with side effects are not run from the file's schema; values, statements and patterns
 * have ceilings; SQLite checks every cell. Virtual tables, each of which reads bytes of the file as
 * a format of its own, are taken away but for json_each and json_tree, which recordings' views use.
 */
static int harden(struct sqlite3 *db)
{
	static const struct {
		int option;
		int value;
	} settings[] = {
		{ SQLITE_DBCONFIG_DEFENSIVE, 1 },
		{ SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0 },
		{ SQLITE_DBCONFIG_ENABLE_TRIGGER, 0 },
		{ SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0 },
		{ SQLITE_DBCONFIG_ENABLE_FTS3_TOKENIZER, 0 },
		{ SQLITE_DBCONFIG_WRITABLE_SCHEMA, 0 },
	};
	int rc = SQLITE_OK;

	for (size_t i = 0; i < sizeof(settings) / sizeof(settings[0]) && rc == SQLITE_OK; i++)
		rc = sqlite3_db_config(db, settings[i].option, settings[i].value, NULL);
	(void)sqlite3_limit(db, SQLITE_LIMIT_LENGTH, VALUE_BYTES_MAX);
	(void)sqlite3_limit(db, SQLITE_LIMIT_SQL_LENGTH, SQL_BYTES_MAX);
	(void)sqlite3_limit(db, SQLITE_LIMIT_ATTACHED, 0);
	(void)sqlite3_limit(db, SQLITE_LIMIT_LIKE_PATTERN_LENGTH, PATTERN_BYTES_MAX);
	(void)sqlite3_limit(db, SQLITE_LIMIT_WORKER_THREADS, 0);
	if (rc == SQLITE_OK)
		rc = drop_virtual_tables(db);
	/* No memory map: a file that shrinks meanwhile would be a SIGBUS. */
	if (rc == SQLITE_OK)
		rc = sqlite3_exec(db,
				  "PRAGMA query_only = ON; PRAGMA mmap_size = 0;"
				  "PRAGMA temp_store = MEMORY; PRAGMA cell_size_check = ON",
				  NULL, NULL, NULL);
	return rc;
}

int seep_recording_open_database(const char *path, struct sqlite3 **ret_db,
				 struct seep_sql_found *ret_found, struct seep_error *err)
{
	struct seep_sql_found found;
	struct sqlite3 *db = NULL;
	int r = check_head(path, err);

	if (r < 0)
		return r;
	r = seep_db_fail(NULL, open_immutable(path, &db), err);
	if (r == 0)
		r = seep_db_fail(db, harden(db), err);
	if (r == 0)
		r = seep_sql_look(db, ret_found ? ret_found : &found, err);
	if (r < 0) {
		(void)sqlite3_close(db);
		seep_error_prefix(err, "%s: %s", path, r == -SEEP_ECORRUPT ? "damaged" : "refused");
		return r;
	}
	*ret_db = db;
	return 0;
}

int seep_profile_open(const char *path, struct seep_profile **ret_profile, struct seep_error *err)
{
	struct head head = { .count = 0 };
	int r = read_head(path, &head, err);

	if (r < 0)
		return r;
	if (seep_profile_is_ledger(head.bytes, head.count))
		return seep_profile_load_ledger(path, false, ret_profile, err);
	if (!is_recording(head.bytes, head.count))
		return seep_fail(err, SEEP_ECORRUPT, "%s: neither a recording nor a ledger", path);
	return seep_recording_load(path, ret_profile, err);
}
