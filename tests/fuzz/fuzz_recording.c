/* SPDX-License-Identifier: MIT */
/*
 * libFuzzer: a recording of any bytes, loaded, reported and queried. See tests/fuzz/run.
 *
 * An input is a whole SQLite file; the seeds are real recordings. Bytes changed at random are
 * mostly caught by SQLite itself, so the mutator also works by SQL: values, rows, the schema.
 */
#include "fuzz_common.h"

#include "profile/profile.h"
#include "recording/recording.h"
#include "recording/recording_rows.h"
#include "report/check.h"
#include "report/report.h"

#include <sqlite3.h>
#include <string.h>

enum {
	STEP_LOOKS_MAX = 1000,
	SQL_BYTES = 1024,
	NAME_BYTES = 64,
	PAGE_HEADER_BYTES = 24,
	SQL_CHANGES_MAX = 3
};

/* ---- the mutator --------------------------------------------------------------------------- */

/* Any name of the schema, or of a column of @table; empty when there is none. */
static void pick_name(sqlite3 *db, struct fuzz_random *random, const char *table,
		      char name[NAME_BYTES])
{
	sqlite3_stmt *statement = NULL;
	const char *sql = table ? "SELECT name FROM pragma_table_info(?1) LIMIT 1 OFFSET ?2"
				: "SELECT name FROM sqlite_schema WHERE type = 'table'"
				  " LIMIT 1 OFFSET ?2";
	int at = (int)fuzz_below(random, table ? 12 : 18);

	*name = '\0';
	if (sqlite3_prepare_v2(db, sql, -1, &statement, NULL) != SQLITE_OK)
		return;
	if (table)
		(void)sqlite3_bind_text(statement, 1, table, -1, SQLITE_STATIC);
	(void)sqlite3_bind_int(statement, 2, at);
	if (sqlite3_step(statement) == SQLITE_ROW)
		(void)snprintf(name, NAME_BYTES, "%s", sqlite3_column_text(statement, 0));
	(void)sqlite3_finalize(statement);
}

static void pick_value(struct fuzz_random *random, char value[NAME_BYTES])
{
	static const char *const values[] = {
		"NULL",
		"-1",
		"0",
		"1",
		"9223372036854775807",
		"-9223372036854775808",
		"4294967296",
		"65536",
		"''",
		"x''",
		"x'00ff80'",
		"CAST(x'ff1b5b33316d' AS TEXT)",
		"printf('%.*c', 20000, 'a')",
		"zeroblob(33)",
		"1e300",
		"'exit'",
		"rowid",
		"id + 1",
		"parent + 1",
		"randomblob(20)",
	};
	uint64_t which = fuzz_below(random, sizeof(values) / sizeof(values[0]) + 8);

	if (which < sizeof(values) / sizeof(values[0]))
		(void)snprintf(value, NAME_BYTES, "%s", values[which]);
	else
		(void)snprintf(value, NAME_BYTES, "%llu",
			       (unsigned long long)fuzz_below(random, 300));
}

/* One statement; what SQLite will not have is left. */
static void change_by_sql(sqlite3 *db, struct fuzz_random *random)
{
	static const char *const changes[] = {
		"UPDATE OR IGNORE \"%1$s\" SET \"%2$s\" = %3$s WHERE rowid = %4$llu",
		"UPDATE OR IGNORE \"%1$s\" SET \"%2$s\" = %3$s WHERE rowid = %4$llu",
		"UPDATE OR IGNORE \"%1$s\" SET \"%2$s\" = %3$s",
		"UPDATE OR IGNORE \"%1$s\" SET \"%2$s\" = substr(\"%2$s\", 1, %4$llu)",
		"UPDATE OR REPLACE \"%1$s\" SET \"%2$s\" = \"%2$s\" + 1 WHERE rowid > %4$llu",
		"DELETE FROM \"%1$s\" WHERE rowid = %4$llu",
		"DELETE FROM \"%1$s\" WHERE rowid > %4$llu",
		"UPDATE OR IGNORE segment SET parent = %3$s WHERE id = %4$llu",
		"UPDATE OR IGNORE segment SET frames = '[1,[%4$llu,2,3],[2,1,65536]]'"
		" WHERE id %% 7 = 1",
		"UPDATE OR IGNORE segment SET frames = substr(frames, 1, length(frames) - 1)"
		" WHERE id = %4$llu",
		"UPDATE OR IGNORE segment SET frames = replace(frames, ',', ',%4$llu,')",
		"UPDATE OR IGNORE segment SET frames = frames || ',' WHERE id = %4$llu",
		"INSERT INTO epoch SELECT id, %4$llu, 1, 2 FROM context",
		"UPDATE scan SET done = 1, why_not = NULL; INSERT OR IGNORE INTO leak"
		" SELECT row_number() OVER (), id %% 12, 1, hash, id, NULL, 1, 20, 2, 30, NULL,"
		" %3$s, NULL FROM context",
		"UPDATE OR IGNORE leak SET root = %4$llu, bytes = %3$s WHERE id %% 3 = 0",
		"INSERT OR IGNORE INTO leak_block SELECT id, %4$llu, %3$s, 5, x'00ff' FROM leak",
		"INSERT OR IGNORE INTO leak_link SELECT id, %4$llu, 'block', NULL, %3$s, 5 FROM leak",
		"INSERT OR IGNORE INTO total VALUES (printf('x%%d', %4$llu), %3$s)",
		"DROP TABLE \"%1$s\"",
		"ALTER TABLE \"%1$s\" RENAME TO other%4$llu",
		"ALTER TABLE \"%1$s\" DROP COLUMN \"%2$s\"",
		"ALTER TABLE \"%1$s\" ADD COLUMN \"c%4$llu\" INTEGER AS (length(zeroblob(99)))",
		"ALTER TABLE \"%1$s\" ADD COLUMN \"d%4$llu\" INTEGER",
		"CREATE VIEW \"%1$s%4$llu\" AS SELECT * FROM \"%1$s\", \"%1$s\"",
		"DROP VIEW top; CREATE VIEW top AS SELECT load_extension('x') AS e",
		"DROP VIEW stack; CREATE VIEW stack AS WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL"
		" SELECT n + 1 FROM r) SELECT n FROM r",
		"DROP VIEW function; CREATE VIEW function AS SELECT count(*) FROM context, segment,"
		" frame, context AS b, segment AS c",
		"CREATE INDEX i%4$llu ON \"%1$s\" (\"%2$s\" DESC)",
		"CREATE INDEX j%4$llu ON \"%1$s\" (abs(\"%2$s\"))",
		"CREATE TRIGGER t%4$llu AFTER DELETE ON \"%1$s\" BEGIN DELETE FROM frame; END",
		"CREATE VIRTUAL TABLE v%4$llu USING fts5(x)",
		"PRAGMA user_version = %4$llu",
		"PRAGMA journal_mode = WAL",
		"UPDATE sqlite_schema SET sql = replace(sql, 'STRICT', '') WHERE name = '%1$s'",
		"UPDATE sqlite_schema SET sql = replace(sql, 'NOT NULL', '') WHERE name = '%1$s'",
		"UPDATE sqlite_schema SET sql = replace(sql, 'PRIMARY KEY', '')"
		" WHERE name = '%1$s'",
		"UPDATE sqlite_schema SET sql = replace(sql, 'INTEGER', 'TEXT')"
		" WHERE name = '%1$s'",
		"UPDATE sqlite_schema SET rootpage = %4$llu WHERE name = '%1$s'",
		"UPDATE sqlite_schema SET type = 'view' WHERE name = '%1$s'",
		"UPDATE sqlite_schema SET name = %3$s WHERE name = '%1$s'",
		"UPDATE sqlite_schema SET sql = substr(sql, 1, %4$llu) WHERE name = '%1$s'",
		"PRAGMA page_size = 1024; VACUUM",
	};
	const char *change = changes[fuzz_below(random, sizeof(changes) / sizeof(changes[0]))];
	char table[NAME_BYTES];
	char column[NAME_BYTES];
	char value[NAME_BYTES];
	char sql[SQL_BYTES];

	pick_name(db, random, NULL, table);
	pick_name(db, random, table, column);
	pick_value(random, value);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
	(void)snprintf(sql, sizeof(sql), change, table, column, value,
		       (unsigned long long)fuzz_below(random, 64));
#pragma GCC diagnostic pop
	(void)sqlite3_exec(db, sql, NULL, NULL, NULL);
}

/* 0 when the input is no database, or the result does not fit. */
static size_t mutate_by_sql(uint8_t *data, size_t size, size_t max_size, struct fuzz_random *random)
{
	const unsigned flags = SQLITE_DESERIALIZE_FREEONCLOSE | SQLITE_DESERIALIZE_RESIZEABLE;
	unsigned char *copy = sqlite3_malloc64(size + 1);
	sqlite3_int64 bytes = 0;
	unsigned char *result;
	sqlite3 *db = NULL;

	memcpy(copy, data, size);
	if (sqlite3_open_v2(":memory:", &db, SQLITE_OPEN_READWRITE, seep_db_vfs()) != SQLITE_OK)
		abort();
	(void)sqlite3_deserialize(db, "main", copy, (sqlite3_int64)size, (sqlite3_int64)size + 1,
				  flags);
	(void)sqlite3_db_config(db, SQLITE_DBCONFIG_WRITABLE_SCHEMA, 1, NULL);
	for (uint64_t n = 1 + fuzz_below(random, SQL_CHANGES_MAX); n > 0; n--)
		change_by_sql(db, random);
	result = sqlite3_serialize(db, "main", &bytes, 0);
	if (!result || (size_t)bytes > max_size)
		bytes = 0;
	if (bytes > 0)
		memcpy(data, result, (size_t)bytes);
	sqlite3_free(result);
	(void)sqlite3_close(db);
	return (size_t)bytes;
}

/* Where SQLite's own structure is: the heads of pages, and the pointers after them. */
static void change_page(uint8_t *data, size_t size, struct fuzz_random *random)
{
	size_t page = (size_t)(data[16] << 8 | data[17]);
	size_t at;

	if (page < 512 || page > size)
		page = 512;
	at = fuzz_below(random, size / page) * page + fuzz_below(random, PAGE_HEADER_BYTES);
	data[at] = (uint8_t)fuzz_word(random, data[at], page);
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed)
{
	struct fuzz_random random = { seed };
	size_t changed = 0;

	if (size < 512)
		return LLVMFuzzerMutate(data, size, max_size);
	switch (fuzz_below(&random, 8)) {
	case 0:
		return LLVMFuzzerMutate(data, size, max_size);
	case 1:
		return 512 + fuzz_below(&random, size - 512);
	case 2:
		change_page(data, size, &random);
		return size;
	case 3:
		data[fuzz_below(&random, size)] = (uint8_t)fuzz_next(&random);
		return size;
	default:
		changed = mutate_by_sql(data, size, max_size, &random);
	}
	return changed ? changed : LLVMFuzzerMutate(data, size, max_size);
}

/* ---- the readers ----------------------------------------------------------------------------- */

static ssize_t swallow(void *cookie, const char *text, size_t bytes)
{
	(void)cookie;
	(void)text;
	return (ssize_t)bytes;
}

/* Budgets of every kind, in one of the formats. */
static void check(FILE *out, struct seep_profile *profile, struct seep_sites *sites,
		  uint64_t choice)
{
	static const char *const texts[] = {
		"leaks<=0", "lost<=0", "peak<=1", "function:*a*:live<=0", "module:*:allocs<=+1%",
		"growth<=0"
	};
	void (*const writers[])(FILE *, const struct seep_check *) = {
		seep_check_sarif, seep_check_junit, seep_check_github, seep_check_markdown
	};
	struct seep_budget_side side = { profile, sites };
	struct seep_baseline baseline = { 0 };
	const struct seep_budget_plan plan = { .baseline = &baseline, .is_alone = choice & 1 };
	struct seep_budgets budgets = { 0 };
	struct seep_check all = { .budgets = &budgets, .root = "/tmp" };

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		if (seep_budgets_add(&budgets, texts[i], NULL) != 0)
			abort();
	seep_baseline_take(&baseline, side);
	seep_check_add(&all, fuzz_path, &side, &plan);
	writers[choice / 2 % 4](out, &all);
	seep_check_done(&all);
	/* Which is not the baseline's to release. */
	baseline.items[0].side = (struct seep_budget_side){ 0 };
	seep_baseline_done(&baseline);
	seep_budgets_done(&budgets);
}

static void report(struct seep_profile *profile, uint64_t choice)
{
	static const cookie_io_functions_t sink = { .write = swallow };
	const struct seep_view_options options = { .path = fuzz_path, .by = SEEP_BY_CHOICE };
	FILE *out = fopencookie(NULL, "w", sink);
	const struct seep_printer printer = { .out = out, .width = 80 };
	struct seep_sites *sites = seep_sites_new(profile);

	switch (choice % 6) {
	case 0:
		seep_report_json(out, profile, &options, false);
		break;
	case 1:
		seep_report_tree(&printer, sites, &options);
		break;
	case 2:
		seep_report_flat(&printer, sites, &options);
		break;
	case 3:
		seep_report_raw(out, profile, &options);
		break;
	case 4:
		check(out, profile, sites, choice / 6);
		break;
	default:
		seep_report_stacks(&printer, sites, &options);
	}
	seep_sites_free(sites);
	(void)fclose(out);
}

/* A view of the file's own may have no end. */
static int look_at_steps(void *context)
{
	return ++*(unsigned *)context > STEP_LOOKS_MAX;
}

static void query(uint64_t choice)
{
	static const char *const statements[] = {
		"SELECT * FROM top",	       "SELECT * FROM stack",
		"SELECT * FROM function",      "SELECT * FROM context, epoch",
		"SELECT * FROM leaks",	       "PRAGMA integrity_check",
		"SELECT * FROM sqlite_schema",
	};
	const char *sql = statements[choice % (sizeof(statements) / sizeof(statements[0]))];
	struct seep_error err = { 0 };
	sqlite3_stmt *statement = NULL;
	unsigned looks = 0;
	sqlite3 *db = NULL;

	if (seep_recording_open_database(fuzz_path, &db, NULL, &err) < 0)
		return;
	sqlite3_progress_handler(db, 10000, look_at_steps, &looks);
	if (sqlite3_prepare_v2(db, sql, -1, &statement, NULL) == SQLITE_OK)
		while (sqlite3_step(statement) == SQLITE_ROW)
			;
	(void)sqlite3_finalize(statement);
	(void)sqlite3_close(db);
}

/* SQLite's own reads fail like the tool's. */
static void let_sqlite_fail(void)
{
	sqlite3_vfs *vfs = sqlite3_vfs_find(seep_db_vfs());

	(void)vfs->xSetSystemCall(vfs, "pread", (sqlite3_syscall_ptr)__wrap_pread);
	(void)vfs->xSetSystemCall(vfs, "fstat", (sqlite3_syscall_ptr)__wrap_fstat);
}

/* What was accepted can be written, and says the same when it is read. */
static void write_again(const struct seep_profile *profile)
{
	struct seep_profile *again = NULL;
	struct seep_error err = { 0 };

	if (seep_recording_write(AT_FDCWD, fuzz_path, profile, true, &err) != 0 ||
	    seep_recording_load(fuzz_path, &again, &err) != 0 ||
	    again->context_count != profile->context_count ||
	    again->leak_count != profile->leak_count ||
	    again->leak_block_count != profile->leak_block_count ||
	    again->link_count != profile->link_count ||
	    memcmp(again->totals.histogram, profile->totals.histogram,
		   sizeof(again->totals.histogram)) != 0)
		abort();
	for (uint32_t i = 0; i < again->context_count; i++)
		if (again->contexts[i].stack_count != profile->contexts[i].stack_count)
			abort();
	seep_profile_free(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static bool prepared;
	struct seep_profile *profile = NULL;
	struct seep_error err = { 0 };
	uint64_t choice = fuzz_hash(data, size);

	if (!prepared)
		let_sqlite_fail();
	prepared = true;
	fuzz_write_file(data, size);
	fuzz_begin();
	if (choice % 8 == 0)
		fuzz_fail_calls(choice >> 8);
	if (seep_profile_open(fuzz_path, &profile, &err) == 0)
		report(profile, choice >> 8);
	else if (!*err.text)
		abort(); /* refused without a word */
	fuzz_let_calls_succeed();
	if (choice % 4 == 1)
		query(choice >> 8);
	if (choice % 4 == 2 && profile && profile->left_out_count == 0)
		write_again(profile);
	seep_profile_free(profile);
	fuzz_end();
	return 0;
}
