/* SPDX-License-Identifier: MIT */
#include "recording/recording_rows.h"

#include "base/xalloc.h"

#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <string.h>

enum {
	SQL_BYTES_MAX = 16 * 1024,
	ROW_BYTES_MIN = 6, /* the shortest row: its place in the page, its length, its header */
	STATUS_MAX = 255,
};

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

static int prepare(struct seep_row_writer *w, enum seep_table_id id)
{
	SEEP_STRBUF(sql, SQL_BYTES_MAX);

	seep_sql_insert(&seep_sql_tables[id], &sql);
	return sqlite3_prepare_v2(w->db, sql.text, -1, &w->tables[id].insert, NULL);
}

/* SQLite takes NULL, and a blob of no bytes at NULL, for a value that is not there. */
static int put_column(struct seep_row_writer *w, enum seep_table_id id, int at, const void *row)
{
	const struct seep_sql_column *column = &seep_sql_tables[id].columns[at - 1];
	sqlite3_stmt *statement = w->tables[id].insert;
	const void *from = (const char *)row + column->offset;
	const struct seep_profile_module *module = from;
	const struct seep_profile_leak_block *block = from;
	const char *text = "";
	int64_t number = (int64_t)w->tables[id].count;

	switch (column->type) {
	case SEEP_COLUMN_TEXT:
	case SEEP_COLUMN_NAME:
	case SEEP_COLUMN_PASSING:
		if (*(const char *const *)from || column->type == SEEP_COLUMN_TEXT)
			text = *(const char *const *)from;
		return sqlite3_bind_text(statement, at, text, -1, SQLITE_STATIC);
	case SEEP_COLUMN_BUILD_ID:
		return sqlite3_bind_blob(statement, at,
					 module->build_id_bytes ? module->build_id : NULL,
					 (int)module->build_id_bytes, SQLITE_STATIC);
	case SEEP_COLUMN_CONTENTS:
		return sqlite3_bind_blob(statement, at, block->contents, (int)block->content_bytes,
					 SQLITE_STATIC);
	case SEEP_COLUMN_ORDINAL:
		number++;
		break;
	case SEEP_COLUMN_INDEX:
	case SEEP_COLUMN_POSITION:
		break;
	case SEEP_COLUMN_COUNT:
	case SEEP_COLUMN_NUMBER:
		number = *(const int64_t *)from;
		if (number < 0 && column->type == SEEP_COLUMN_COUNT)
			w->negative = seep_sql_tables[id].name;
		break;
	case SEEP_COLUMN_ID:
	case SEEP_COLUMN_U32:
		number = *(const uint32_t *)from;
		if (number == 0 && column->type == SEEP_COLUMN_ID)
			return sqlite3_bind_null(statement, at);
		break;
	case SEEP_COLUMN_STATUS:
		number = *(const int *)from;
		if (number < 0)
			return sqlite3_bind_null(statement, at);
		break;
	case SEEP_COLUMN_U8:
		number = *(const uint8_t *)from;
		break;
	case SEEP_COLUMN_FLAG:
		number = *(const bool *)from;
		break;
	}
	return sqlite3_bind_int64(statement, at, number);
}

uint64_t seep_row_put(struct seep_row_writer *w, enum seep_table_id id, const void *row)
{
	if (!w->tables[id].insert && w->rc == SQLITE_OK)
		w->rc = prepare(w, id);
	for (int i = 1; i <= seep_sql_tables[id].column_count && w->rc == SQLITE_OK; i++)
		w->rc = put_column(w, id, i, row);
	if (w->rc == SQLITE_OK) {
		(void)sqlite3_step(w->tables[id].insert);
		w->rc = sqlite3_reset(w->tables[id].insert);
	}
	return ++w->tables[id].count;
}

int seep_row_writer_done(struct seep_row_writer *w, struct seep_error *err)
{
	int r = seep_db_fail(w->db, w->rc, err);

	if (r == 0 && w->negative)
		r = seep_fail(err, SEEP_ELIMIT, "a count or a size in table %s is over 2^63",
			      w->negative);
	for (int id = 0; id < SEEP_TABLE_COUNT; id++)
		(void)sqlite3_finalize(w->tables[id].insert);
	return r;
}

static int table_index(const char *name)
{
	int i = 0;

	while (i < SEEP_TABLE_COUNT && strcmp(seep_sql_tables[i].name, name) != 0)
		i++;
	return i;
}

static int column_index(const struct seep_sql_table *table, const char *name)
{
	int i = 0;

	while (i < table->column_count && strcmp(table->columns[i].name, name) != 0)
		i++;
	return i;
}

/*
 * What the file says of a table's kind cannot be a lie, or SQLite refuses the schema as a whole.
 * Not by pragma_table_list: it works out the columns of every view in the file.
 */
static int list_columns(struct sqlite3 *db, struct seep_sql_found *found, struct seep_error *err)
{
	sqlite3_stmt *statement = NULL;
	int computed = SEEP_TABLE_COUNT;
	int rc = sqlite3_prepare_v2(db,
				    "SELECT t.name, c.name, c.hidden FROM sqlite_schema AS t,"
				    " pragma_table_xinfo(t.name) AS c"
				    " WHERE t.type = 'table' AND t.rootpage > 0",
				    -1, &statement, NULL);

	while (rc == SQLITE_OK && (rc = sqlite3_step(statement)) == SQLITE_ROW) {
		const char *table = (const char *)sqlite3_column_text(statement, 0);
		const char *column = (const char *)sqlite3_column_text(statement, 1);
		int id = table && column ? table_index(table) : SEEP_TABLE_COUNT;

		rc = SQLITE_OK;
		if (id == SEEP_TABLE_COUNT)
			continue;
		found->tables[id] = true;
		found->columns[id] |= 1ull << column_index(&seep_sql_tables[id], column);
		if (sqlite3_column_int(statement, 2) != 0)
			computed = id;
	}
	(void)sqlite3_finalize(statement);
	if (rc != SQLITE_DONE)
		return seep_db_fail(db, rc, err);
	return computed == SEEP_TABLE_COUNT
		       ? 0
		       : seep_fail(err, SEEP_ECORRUPT, "its table %s computes columns",
				   seep_sql_tables[computed].name);
}

/* What is of a schema later than the file's own may be missing. */
static int check_table(const struct seep_sql_found *found, int id, struct seep_error *err)
{
	const struct seep_sql_table *table = &seep_sql_tables[id];

	if (!found->tables[id] && table->since <= found->schema)
		return seep_fail(err, SEEP_ECORRUPT, "it has no table %s", table->name);
	for (int i = 0; i < table->column_count && found->tables[id]; i++)
		if (!(found->columns[id] >> i & 1) && table->columns[i].since <= found->schema)
			return seep_fail(err, SEEP_ECORRUPT, "its table %s has no column %s",
					 table->name, table->columns[i].name);
	return 0;
}

/* A later one counts as this one, all of which it has. */
static int read_schema(struct sqlite3 *db, uint32_t *ret_schema, struct seep_error *err)
{
	sqlite3_stmt *statement = NULL;
	int rc = sqlite3_prepare_v2(db, "SELECT max(?1, min(?2, schema)) FROM process", -1,
				    &statement, NULL);

	(void)sqlite3_bind_int(statement, 1, SEEP_SCHEMA_FIRST);
	(void)sqlite3_bind_int(statement, 2, SEEP_SCHEMA);
	if (rc == SQLITE_OK && (rc = sqlite3_step(statement)) == SQLITE_ROW)
		*ret_schema = (uint32_t)sqlite3_column_int(statement, 0);
	(void)sqlite3_finalize(statement);
	return rc == SQLITE_ROW || rc == SQLITE_DONE ? 0 : seep_db_fail(db, rc, err);
}

int seep_sql_look(struct sqlite3 *db, struct seep_sql_found *ret_found, struct seep_error *err)
{
	const int schema = column_index(&seep_sql_tables[SEEP_TABLE_PROCESS], "schema");
	int r;

	*ret_found = (struct seep_sql_found){ .schema = SEEP_SCHEMA_FIRST };
	r = list_columns(db, ret_found, err);
	if (r == 0 && ret_found->columns[SEEP_TABLE_PROCESS] >> schema & 1)
		r = read_schema(db, &ret_found->schema, err);
	for (int id = 0; id < SEEP_TABLE_COUNT && r == 0; id++)
		r = check_table(ret_found, id, err);
	return r;
}

static char *get_text(struct seep_row_reader *r, sqlite3_stmt *statement, int at)
{
	const char *text = (const char *)sqlite3_column_text(statement, at);

	return text ? seep_builder_text(&r->builder, text,
					(uint64_t)sqlite3_column_bytes(statement, at))
		    : NULL;
}

static void get_build_id(sqlite3_stmt *statement, int at, struct seep_profile_module *module)
{
	const void *bytes = sqlite3_column_blob(statement, at);
	int count = sqlite3_column_bytes(statement, at);

	if (!bytes || count > SEEP_PROFILE_BUILD_ID_BYTES)
		return;
	memcpy(module->build_id, bytes, (size_t)count);
	module->build_id_bytes = (uint32_t)count;
}

static void get_contents(struct seep_row_reader *r, sqlite3_stmt *statement, int at,
			 struct seep_profile_leak_block *block)
{
	const void *bytes = sqlite3_column_blob(statement, at);
	const uint32_t count = (uint32_t)sqlite3_column_bytes(statement, at);

	block->contents = bytes ? seep_builder_bytes(&r->builder, bytes, count) : NULL;
	block->content_bytes = block->contents ? count : 0;
}

/* Returns: NULL, or what is wrong with the value. */
static const char *get_column(struct seep_row_reader *r, sqlite3_stmt *statement, int at,
			      const struct seep_sql_column *column, uint64_t ordinal, void *row)
{
	void *to = (char *)row + column->offset;
	uint64_t value = 0;
	const char *text;

	if (column->type < SEEP_COLUMN_TEXT)
		value = (uint64_t)sqlite3_column_int64(statement, at);
	switch (column->type) {
	case SEEP_COLUMN_ORDINAL:
		return value == ordinal ? NULL : "gaps";
	case SEEP_COLUMN_INDEX:
		return value == ordinal - 1 ? NULL : "gaps";
	case SEEP_COLUMN_POSITION:
		break;
	case SEEP_COLUMN_COUNT:
		*(uint64_t *)to = value;
		return value <= INT64_MAX ? NULL : "negative numbers";
	case SEEP_COLUMN_NUMBER:
		*(uint64_t *)to = value;
		break;
	case SEEP_COLUMN_ID:
		*(uint32_t *)to = value <= UINT32_MAX ? (uint32_t)value : UINT32_MAX;
		break;
	case SEEP_COLUMN_U32:
		*(uint32_t *)to = value <= UINT32_MAX ? (uint32_t)value : 0;
		break;
	case SEEP_COLUMN_STATUS:
		if (sqlite3_column_type(statement, at) == SQLITE_NULL)
			*(int *)to = -1;
		else
			*(int *)to = (int)(value & STATUS_MAX);
		break;
	case SEEP_COLUMN_U8:
		*(uint8_t *)to = value <= column->max ? (uint8_t)value : 0;
		break;
	case SEEP_COLUMN_FLAG:
		*(bool *)to = value != 0;
		break;
	case SEEP_COLUMN_TEXT:
	case SEEP_COLUMN_NAME:
		*(char **)to = get_text(r, statement, at);
		if (!*(char **)to && column->type == SEEP_COLUMN_NAME)
			*(char **)to = seep_profile_strndup(r->builder.profile, "", 0);
		break;
	case SEEP_COLUMN_PASSING:
		text = (const char *)sqlite3_column_text(statement, at);
		*(const char **)to = text ? text : "";
		break;
	case SEEP_COLUMN_BUILD_ID:
		get_build_id(statement, at, to);
		break;
	case SEEP_COLUMN_CONTENTS:
		get_contents(r, statement, at, to);
	}
	return NULL;
}

/* Pages that several places of a table's tree name would give rows without end. */
static int check_count(struct seep_row_reader *r, const struct seep_sql_table *table,
		       uint64_t count)
{
	if (count > r->builder.held_bytes / ROW_BYTES_MIN)
		return seep_fail(r->err, SEEP_ECORRUPT,
				 "it has more rows than fit into a file of its size");
	if (count > table->rows_max)
		return seep_fail(r->err, SEEP_ELIMIT, "its table %s has over %u rows", table->name,
				 table->rows_max);
	return 0;
}

static int get_row(struct seep_row_reader *r, const struct seep_sql_table *table,
		   sqlite3_stmt *statement, uint64_t ordinal, void *row)
{
	for (int i = 0; i < table->column_count; i++) {
		const struct seep_sql_column *column = &table->columns[i];
		const char *wrong = get_column(r, statement, i, column, ordinal, row);

		if (wrong)
			return seep_fail(r->err, SEEP_ECORRUPT, "its table %s has %s in column %s",
					 table->name, wrong, column->name);
	}
	return 0;
}

int seep_sql_read(struct seep_row_reader *r, enum seep_table_id id,
		  int (*each)(struct seep_loading *loading, void *row),
		  struct seep_loading *loading)
{
	const struct seep_sql_table *table = &seep_sql_tables[id];
	SEEP_FREED void *own = seep_xcalloc(1, table->row_bytes);
	sqlite3_stmt *statement = NULL;
	SEEP_STRBUF(sql, SQL_BYTES_MAX);
	uint64_t count = 0;
	void *row = own;
	int failed = 0;
	int rc;

	if (!r->found.tables[id])
		return 0;
	seep_sql_select(table, r->found.columns[id], &sql);
	rc = sqlite3_prepare_v2(r->db, sql.text, -1, &statement, NULL);
	if (rc == SQLITE_OK)
		rc = sqlite3_step(statement);
	for (; rc == SQLITE_ROW && failed == 0; rc = sqlite3_step(statement)) {
		failed = check_count(r, table, ++count);
		if (failed < 0)
			break;
		if (table->array != SEEP_ARRAY_COUNT)
			row = seep_profile_add(r->builder.profile, table->array);
		else if (table->place)
			row = (char *)r->builder.profile + table->place +
			      (count - 1) * table->row_bytes;
		failed = get_row(r, table, statement, count, row);
		if (failed == 0 && each)
			failed = each(loading, row);
	}
	if (failed == 0 && rc != SQLITE_DONE)
		failed = seep_db_fail(r->db, rc, r->err);
	(void)sqlite3_finalize(statement);
	return failed;
}
