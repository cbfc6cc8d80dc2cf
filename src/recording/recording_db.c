/* SPDX-License-Identifier: MIT */
#include "recording/recording_db.h"

#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>

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
