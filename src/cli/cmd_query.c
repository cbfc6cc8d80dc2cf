/* SPDX-License-Identifier: MIT */
/*
 * "seep query": one SELECT over a recording. The file is opened with the checks that every reader
 * of recordings makes, since it may be hostile. The statement is the user's own; it cannot write.
 */
#include <math.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/json_writer.h"
#include "base/encode.h"
#include "base/strbuf.h"
#include "base/table.h"
#include "base/terminal.h"
#include "base/units.h"
#include "base/xalloc.h"
#include "cli/command.h"
#include "cli/complain.h"
#include "recording/recording.h"

enum {
	SQL_BYTES_MAX = 1024 * 1024,
	CELL_BYTES_MAX = 64 * 1024 * 1024,
	TABLE_BYTES_MAX = 256 * 1024 * 1024, /* of all cells, and what each of them takes besides */
	TABLE_CELL_BYTES = 256,
};

#define HEAP_BYTES_MAX (2LL << 30)

static struct {
	const char *json;
	bool csv;
	uint64_t timeout_ns;
} asked = { .timeout_ns = 30 * SEEP_NS_PER_S };

static const struct seep_option options[] = {
	SEEP_OPTION("json", 0, OPTIONAL, "strings", asked.json,
		    "Print an array of objects; \"strings\": integers as strings",
		    .choices = seep_json_forms),
	SEEP_OPTION("csv", 0, FLAG, NULL, asked.csv,
		    "Print comma-separated values with a heading line"),
	SEEP_OPTION("timeout", 0, DURATION, "T", asked.timeout_ns,
		    "Give up after T of processor time; 0: no limit (default: 30s)"),
};

const struct seep_option_table cmd_query_options = {
	SEEP_OPTIONS(options),
	.min_operands = 2,
	.max_operands = 2,
	.details =
		"A recording is a SQLite file. In place of SQL, .tables and .schema show what is\n"
		"in it, and \"-\" reads the SQL from standard input. Only statements that read are\n"
		"allowed. SQLite's shell (Debian package sqlite3) reads recordings, too:\n"
		"sqlite3 -readonly FILE\n",
};

/* What people who know the sqlite3 shell type first. */
static const char tables_sql[] =
	"SELECT name, type FROM sqlite_schema WHERE type IN ('table','view') "
	"AND name NOT LIKE 'sqlite_%' ORDER BY name";
static const char schema_sql[] =
	"SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY name";

static int read_sql(const char *operand, char **ret_sql, struct seep_error *err)
{
	if (strcmp(operand, "-") == 0)
		return seep_file_read_fd(STDIN_FILENO, "standard input", SQL_BYTES_MAX, ret_sql,
					 NULL, err);
	if (strcmp(operand, ".tables") == 0)
		operand = tables_sql;
	else if (strcmp(operand, ".schema") == 0)
		operand = schema_sql;
	else if (*operand == '.')
		return seep_fail(err, SEEP_EUSAGE, "'%s' is neither .tables nor .schema nor SQL",
				 operand);
	*ret_sql = seep_xstrdup(operand);
	return 0;
}

static int fail(sqlite3 *db, struct seep_error *err)
{
	switch (sqlite3_errcode(db)) {
	case SQLITE_NOMEM:
		return seep_fail(err, SEEP_ELIMIT, "the statement needs more than %s of memory",
				 seep_bytes_text(HEAP_BYTES_MAX).text);
	case SQLITE_CORRUPT:
	case SQLITE_NOTADB:
		return seep_fail(err, SEEP_ECORRUPT, "the recording is damaged (%s)",
				 sqlite3_errmsg(db));
	default:
		return seep_fail(err, SEEP_EUSAGE, "SQLite says: %s", sqlite3_errmsg(db));
	}
}

/* Comments and semicolons around the one statement are no others. */
static int prepare(sqlite3 *db, const char *sql, sqlite3_stmt **ret_statement,
		   struct seep_error *err)
{
	*ret_statement = NULL;
	while (*sql) {
		sqlite3_stmt *next;

		if (sqlite3_prepare_v2(db, sql, -1, &next, &sql) != SQLITE_OK)
			return fail(db, err);
		if (next && *ret_statement) {
			(void)sqlite3_finalize(next);
			return seep_fail(err, SEEP_EUSAGE,
					 "the SQL has several statements; give one");
		}
		if (next)
			*ret_statement = next;
	}
	if (!*ret_statement)
		return seep_fail(err, SEEP_EUSAGE, "there is no statement in the SQL");
	if (!sqlite3_stmt_readonly(*ret_statement) || sqlite3_column_count(*ret_statement) == 0)
		return seep_fail(err, SEEP_EUSAGE, "only statements that read are allowed");
	return 0;
}

/* A value as text, blobs in hexadecimal digits; NULL gives none. */
static void read_cell(struct seep_strbuf *cell, sqlite3_stmt *statement, int column)
{
	bool blob = sqlite3_column_type(statement, column) == SQLITE_BLOB;
	const unsigned char *text = blob ? sqlite3_column_blob(statement, column)
					 : sqlite3_column_text(statement, column);
	int bytes = sqlite3_column_bytes(statement, column);

	seep_strbuf_clear(cell);
	for (int i = 0; blob && i < bytes; i++) {
		seep_strbuf_addc(cell, "0123456789abcdef"[text[i] >> 4]);
		seep_strbuf_addc(cell, "0123456789abcdef"[text[i] & 15]);
	}
	if (!blob && text)
		seep_strbuf_add(cell, text, (size_t)bytes);
}

/* Numbers to the right, by the first row: a SQL column has no type of its own. */
static struct seep_column *make_columns(sqlite3_stmt *statement, int count, bool has_row)
{
	struct seep_column *columns = seep_xcalloc((size_t)count, sizeof(*columns));

	for (int i = 0; i < count; i++) {
		/* To ask without a row would be an error, in place of the one that there is. */
		int type = has_row ? sqlite3_column_type(statement, i) : SQLITE_TEXT;
		bool number = type == SQLITE_INTEGER || type == SQLITE_FLOAT;

		columns[i].heading = seep_escape_dup(sqlite3_column_name(statement, i));
		columns[i].align = number ? SEEP_ALIGN_RIGHT : SEEP_ALIGN_LEFT;
		columns[i].cut = number ? SEEP_CUT_NEVER : SEEP_CUT_END;
	}
	return columns;
}

static int print_table(sqlite3_stmt *statement, struct seep_strbuf *cell, struct seep_error *err)
{
	int count = sqlite3_column_count(statement);
	int step = sqlite3_step(statement);
	struct seep_column *columns = make_columns(statement, count, step == SQLITE_ROW);
	struct seep_table *table = seep_table_new(columns, (size_t)count);
	const struct seep_printer printer = seep_printer_for(stdout, 0);
	size_t bytes = 0;

	for (; step == SQLITE_ROW && bytes <= TABLE_BYTES_MAX; step = sqlite3_step(statement)) {
		for (int i = 0; i < count; i++) {
			read_cell(cell, statement, i);
			seep_table_add_bytes(table, cell->text, cell->length);
			bytes += TABLE_CELL_BYTES + cell->length;
		}
	}
	if (bytes > TABLE_BYTES_MAX)
		(void)seep_fail(err, SEEP_ELIMIT,
				"more text than a table can hold; use --csv or --json");
	else if (step == SQLITE_DONE && seep_table_fits(table, printer.width))
		seep_table_print(table, &printer, 0);
	else if (step == SQLITE_DONE)
		seep_table_print_upright(table, stdout);
	seep_table_free(table);
	for (int i = 0; i < count; i++)
		free((void *)(uintptr_t)columns[i].heading);
	free(columns);
	return step;
}

static void print_json_cell(struct seep_json *json, struct seep_strbuf *cell,
			    sqlite3_stmt *statement, int column)
{
	const char *name = sqlite3_column_name(statement, column);
	const int type = sqlite3_column_type(statement, column);
	const double number = sqlite3_column_double(statement, column);
	char digits[32];

	read_cell(cell, statement, column);
	(void)snprintf(digits, sizeof(digits), "%.17g", number);
	if (type == SQLITE_NULL || (type == SQLITE_FLOAT && !isfinite(number)))
		seep_json_null(json, name);
	else if (type == SQLITE_FLOAT)
		seep_json_raw(json, name, digits);
	else if (type == SQLITE_INTEGER && !json->strings)
		seep_json_raw(json, name, cell->text);
	else
		seep_json_bytes(json, name, cell->text, cell->length);
}

/* What is cut short by a failure does not parse: the array is left open. */
static int print_json(sqlite3_stmt *statement, struct seep_strbuf *cell, bool strings)
{
	struct seep_json *json = seep_json_new(stdout, strings);
	int step = sqlite3_step(statement);

	if (step == SQLITE_ROW || step == SQLITE_DONE)
		seep_json_open_array(json, NULL);
	for (; step == SQLITE_ROW; step = sqlite3_step(statement)) {
		seep_json_open_object(json, NULL);
		for (int i = 0; i < sqlite3_column_count(statement); i++)
			print_json_cell(json, cell, statement, i);
		seep_json_close(json);
	}
	if (step == SQLITE_DONE)
		seep_json_finish(json);
	else
		free(json);
	return step;
}

/* Escaped for a terminal; as it is for a file. */
static void print_csv_cell(const struct seep_strbuf *cell, bool is_text, const char *after)
{
	SEEP_STRBUF(text, 4 * CELL_BYTES_MAX);
	const char *quote;

	if (isatty(STDOUT_FILENO))
		seep_escape(&text, cell->text, cell->length);
	else
		seep_strbuf_add(&text, cell->text, cell->length);
	quote = strcspn(text.text, "\",\r\n") < text.length ? "\"" : "";
	(void)printf("%s%s", quote, is_text ? seep_csv_guard(text.text) : "");
	for (size_t i = 0; i < text.length; i++) {
		if (text.text[i] == '"')
			(void)putc_unlocked('"', stdout);
		(void)putc_unlocked(text.text[i], stdout);
	}
	(void)printf("%s%s", quote, after);
}

static int print_csv(sqlite3_stmt *statement, struct seep_strbuf *cell)
{
	const int count = sqlite3_column_count(statement);
	int step;

	for (int i = 0; i < count; i++) {
		seep_strbuf_clear(cell);
		seep_strbuf_adds(cell, sqlite3_column_name(statement, i));
		print_csv_cell(cell, true, i + 1 < count ? "," : "\n");
	}
	while ((step = sqlite3_step(statement)) == SQLITE_ROW) {
		for (int i = 0; i < count; i++) {
			read_cell(cell, statement, i);
			print_csv_cell(cell, sqlite3_column_type(statement, i) == SQLITE_TEXT,
				       i + 1 < count ? "," : "\n");
		}
	}
	return step;
}

/* Statements of the schema, with their line breaks. */
static int print_schema(sqlite3_stmt *statement, struct seep_strbuf *cell)
{
	int step;

	while ((step = sqlite3_step(statement)) == SQLITE_ROW) {
		const char *sql = (const char *)sqlite3_column_text(statement, 0);

		seep_strbuf_clear(cell);
		while (sql && *sql) {
			size_t bytes = strcspn(sql, "\n\t");

			seep_escape(cell, sql, bytes);
			sql += bytes;
			if (*sql)
				seep_strbuf_addc(cell, *sql++);
		}
		(void)printf("%s;\n", cell->text);
	}
	return step;
}

static char out_of_time[128];

/* SQLite looks at no clock within a step, and one instr() of long texts is a step of many hours. */
static void give_up(int number)
{
	(void)number;
	(void)!write(STDERR_FILENO, out_of_time, strlen(out_of_time));
	_exit(SEEP_EXIT_FAILURE);
}

/* Processor time: a pager that is being read is not the statement's doing. */
static void limit_time(uint64_t ns)
{
	const struct itimerval timer = {
		.it_value = { .tv_sec = (time_t)(ns / SEEP_NS_PER_S),
			      .tv_usec = (suseconds_t)(ns % SEEP_NS_PER_S / 1000) },
	};

	(void)snprintf(out_of_time, sizeof(out_of_time),
		       "seep query: the statement took longer than %s\n"
		       "  hint: --timeout allows more\n",
		       seep_bound_text(seep_duration_text(ns)).text);
	(void)signal(SIGPROF, give_up);
	(void)setitimer(ITIMER_PROF, &timer, NULL);
}

static int query(sqlite3 *db, const char *sql, struct seep_error *err)
{
	sqlite3_stmt *statement;
	SEEP_STRBUF(cell, CELL_BYTES_MAX);
	int ret = prepare(db, sql, &statement, err);
	int step = SQLITE_DONE;

	if (ret < 0)
		;
	else if (asked.json)
		step = print_json(statement, &cell, *asked.json != '\0');
	else if (asked.csv)
		step = print_csv(statement, &cell);
	else if (strcmp(sql, schema_sql) == 0)
		step = print_schema(statement, &cell);
	else
		step = print_table(statement, &cell, err);
	if (err->code == 0 && step != SQLITE_DONE)
		(void)fail(db, err);
	(void)sqlite3_finalize(statement);
	return err->code ? -(int)err->code : 0;
}

int cmd_query(char **operands, struct seep_error *err)
{
	sqlite3 *db = NULL;
	SEEP_FREED char *sql = NULL;
	int ret;

	if (asked.json && asked.csv)
		return seep_fail(err, SEEP_EUSAGE, "--json and --csv exclude each other");
	ret = read_sql(operands[1], &sql, err);
	if (ret == 0) {
		(void)sqlite3_hard_heap_limit64(HEAP_BYTES_MAX);
		limit_time(asked.timeout_ns);
		ret = seep_recording_open_database(operands[0], &db, NULL, err);
	}
	if (ret == 0)
		ret = query(db, sql, err);
	(void)fflush(stdout);
	if (ret < 0 && strstr(err->text, "says: no such")) {
		ret = seep_complain("query", err);
		seep_hint("\"seep query %s .schema\" shows the tables and their columns",
			  operands[0]);
	}
	(void)sqlite3_close(db);
	return ret;
}
