/* SPDX-License-Identifier: MIT */
#include "recording/recording_db.h"

#include <stddef.h>

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

void seep_db_insert_init(struct seep_db_insert *insert, struct sqlite3 *db, const char *sql)
{
	insert->db = db;
	insert->statement = NULL;
	insert->column = 0;
	insert->rc = sqlite3_prepare_v2(db, sql, -1, &insert->statement, NULL);
}

static void note(struct seep_db_insert *insert, int rc)
{
	if (insert->rc == SQLITE_OK)
		insert->rc = rc;
}

void seep_db_put_number(struct seep_db_insert *insert, uint64_t value)
{
	note(insert, sqlite3_bind_int64(insert->statement, ++insert->column, (sqlite3_int64)value));
}

void seep_db_put_text(struct seep_db_insert *insert, const char *text)
{
	if (text)
		note(insert, sqlite3_bind_text(insert->statement, ++insert->column, text, -1,
					       SQLITE_STATIC));
	else
		seep_db_put_null(insert);
}

void seep_db_put_blob(struct seep_db_insert *insert, const void *bytes, uint32_t count)
{
	note(insert, sqlite3_bind_blob(insert->statement, ++insert->column, bytes, (int)count,
				       SQLITE_STATIC));
}

void seep_db_put_null(struct seep_db_insert *insert)
{
	note(insert, sqlite3_bind_null(insert->statement, ++insert->column));
}

void seep_db_insert_row(struct seep_db_insert *insert)
{
	insert->column = 0;
	if (insert->rc != SQLITE_OK)
		return;
	(void)sqlite3_step(insert->statement);
	note(insert, sqlite3_reset(insert->statement));
}

int seep_db_insert_done(struct seep_db_insert *insert, struct seep_error *err)
{
	int r = seep_db_fail(insert->db, insert->rc, err);

	(void)sqlite3_finalize(insert->statement);
	insert->statement = NULL;
	return r;
}
