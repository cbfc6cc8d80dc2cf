/* SPDX-License-Identifier: MIT */
#include "recording/recording_db.h"

#include "base/strbuf.h"

#include <ctype.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stddef.h>
#include <string.h>

enum {
	URI_BYTES_MAX = 3 * PATH_MAX + 64,
	VALUE_BYTES_MAX = 16 * 1024 * 1024, /* of one text, blob or row */
	SQL_BYTES_MAX = 1024 * 1024,
	PATTERN_BYTES_MAX = 1000,
};

/* ---- files -------------------------------------------------------------------------------- */

static sqlite3_vfs layer;
static pthread_once_t layer_once = PTHREAD_ONCE_INIT;

/*
 * SQLite's own makes paths absolute and then refuses those of more than 512 bytes. The system needs
 * neither, and the working directory may have been removed.
 */
static int keep_path(sqlite3_vfs *vfs, const char *path, int capacity, char *ret_path)
{
	size_t bytes = strlen(path) + 1;

	(void)vfs;
	if (bytes > (size_t)capacity)
		return SQLITE_CANTOPEN;
	memcpy(ret_path, path, bytes);
	return SQLITE_OK;
}

/* SQLite follows links when it makes a path absolute, and forbids them here. */
static int open_followed(const char *path, int flags, int mode)
{
	return open(path, flags & ~O_NOFOLLOW, mode);
}

static void make_layer(void)
{
	sqlite3_vfs *usual = sqlite3_vfs_find(NULL);

	if (!usual)
		return;
	if (usual->iVersion >= 3 && usual->xSetSystemCall)
		(void)usual->xSetSystemCall(usual, "open", (sqlite3_syscall_ptr)open_followed);
	layer = *usual;
	layer.pNext = NULL;
	layer.zName = "seep";
	layer.mxPathname = PATH_MAX;
	layer.xFullPathname = keep_path;
	(void)sqlite3_vfs_register(&layer, 0);
}

const char *seep_db_vfs(void)
{
	(void)pthread_once(&layer_once, make_layer);
	return "seep";
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

int seep_db_open_immutable(const char *path, struct sqlite3 **ret_db)
{
	const int flags = SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX;
	struct seep_strbuf uri;
	int rc;

	seep_strbuf_init(&uri, URI_BYTES_MAX);
	make_uri(&uri, path);
	rc = sqlite3_open_v2(uri.text, ret_db, flags, seep_db_vfs());
	seep_strbuf_done(&uri);
	return rc;
}

/* ---- what is allowed ---------------------------------------------------------------------- */

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

int seep_db_harden(struct sqlite3 *db)
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

/* ---- errors ------------------------------------------------------------------------------- */

static bool is_damage(int rc)
{
	switch (rc & 0xff) {
	case SQLITE_CORRUPT:
	case SQLITE_NOTADB:
	case SQLITE_ERROR: /* no such table or column */
	case SQLITE_SCHEMA:
	case SQLITE_TOOBIG:
	case SQLITE_MISMATCH:
	case SQLITE_CONSTRAINT:
	case SQLITE_FORMAT:
		return true;
	default:
		return false;
	}
}

int seep_db_fail(struct sqlite3 *db, int rc, struct seep_error *err)
{
	const char *text = db ? sqlite3_errmsg(db) : sqlite3_errstr(rc);

	if (rc == SQLITE_OK)
		return 0;
	return seep_fail(err, is_damage(rc) ? SEEP_ECORRUPT : SEEP_ESYS, "%s", text);
}
