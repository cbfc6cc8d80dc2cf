/* SPDX-License-Identifier: MIT */
/* "seep query": SQL over a recording. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/xalloc.h"
#include "cli/command.h"
#include "cli/complain.h"
#include "cli/query_guard.h"
#include "cli/query_output.h"

enum { SQL_FILE_BYTES_MAX = 1024 * 1024 };

struct query_options {
	const char *json;
	bool csv;
	uint64_t timeout_ns;
};

static const struct seep_option options[] = {
	SEEP_OPTION("json", 0, OPTIONAL, "strings", struct query_options, json,
		    "Print an array of objects; \"strings\": integers as strings"),
	SEEP_OPTION("csv", 0, FLAG, NULL, struct query_options, csv,
		    "Print comma-separated values with a heading line"),
	SEEP_OPTION("timeout", 0, DURATION, "T", struct query_options, timeout_ns,
		    "Give up after T of work; 0 never does (30s)"),
};

const struct seep_option_table cmd_query_options = {
	.options = options,
	.count = SEEP_OPTION_COUNT_OF(options),
	.min_operands = 2,
	.max_operands = 2,
	.details =
		"A recording is a SQLite file. \"seep query FILE .tables\" and \".schema\" show what\n"
		"is in it. It is opened read-only and defensively: a statement can neither change\n"
		"it nor reach another file. SQL \"-\" is read from standard input.\n",
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
		return seep_file_read_fd(STDIN_FILENO, "standard input", SQL_FILE_BYTES_MAX,
					 ret_sql, NULL, err);
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

/* Whether another statement follows; comments and semicolons are none. */
static bool has_more(sqlite3 *db, const char *tail)
{
	while (*tail) {
		sqlite3_stmt *next = NULL;

		if (sqlite3_prepare_v2(db, tail, -1, &next, &tail) != SQLITE_OK)
			return true;
		if (next) {
			(void)sqlite3_finalize(next);
			return true;
		}
	}
	return false;
}

static int run_sql(struct seep_query_guard *guard, const char *sql, enum seep_query_form form,
		   struct seep_error *err)
{
	sqlite3_stmt *statement = NULL;
	const char *tail;
	int ret;

	if (sqlite3_prepare_v2(guard->db, sql, -1, &statement, &tail) != SQLITE_OK)
		return seep_query_fail(guard, err);
	if (!statement)
		return seep_fail(err, SEEP_EUSAGE, "there is no statement in the SQL");
	if (has_more(guard->db, tail))
		ret = seep_fail(err, SEEP_EUSAGE, "one statement at a time");
	else if (!sqlite3_stmt_readonly(statement) || sqlite3_column_count(statement) == 0)
		ret = seep_fail(err, SEEP_EUSAGE, "only reading is allowed here");
	else
		ret = seep_query_print(statement, form, stdout, err);
	if (ret > 0)
		ret = seep_query_fail(guard, err);
	(void)sqlite3_finalize(statement);
	return ret;
}

static int choose_form(const struct query_options *values, enum seep_query_form *ret_form,
		       struct seep_error *err)
{
	*ret_form = values->csv ? SEEP_QUERY_CSV : SEEP_QUERY_TABLE;
	if (!values->json)
		return 0;
	if (values->csv)
		return seep_fail(err, SEEP_EUSAGE, "--json and --csv exclude each other");
	*ret_form = *values->json ? SEEP_QUERY_JSON_STRINGS : SEEP_QUERY_JSON;
	if (*values->json && strcmp(values->json, "strings") != 0)
		return seep_fail(err, SEEP_EUSAGE, "it is --json or --json=strings, not --json=%s",
				 values->json);
	return 0;
}

static void hint_after(const struct seep_error *err, const char *path)
{
	if (err->code == SEEP_EUSAGE && strncmp(err->text, "no such", 7) == 0)
		seep_hint("\"seep query %s .schema\" shows the tables and their columns", path);
	else if (err->code == SEEP_ELIMIT && strstr(err->text, "took longer"))
		seep_hint("--timeout allows more");
	else if (err->code == SEEP_ENOTFOUND)
		seep_hint("\"seep run PROGRAM\" makes a recording");
}

/* By another thread, while this one's is in SQLite; what is in stdout's buffer is lost. */
static void give_up(const struct seep_query_guard *guard)
{
	struct seep_error err = { 0 };

	(void)seep_query_fail_timeout(guard, &err);
	(void)seep_complain("query", &err);
	hint_after(&err, "");
	_exit(SEEP_EXIT_FAILURE);
}

int cmd_query(int argc, char **argv)
{
	struct query_options values = { .timeout_ns = 30000000000ULL };
	struct seep_query_guard guard = { 0 };
	struct seep_error err = { 0 };
	enum seep_query_form form = SEEP_QUERY_TABLE;
	char *sql = NULL;
	int status;
	int ret;

	if (!seep_command_begin(&argc, &argv, &values, &status))
		return status;
	ret = choose_form(&values, &form, &err);
	if (form == SEEP_QUERY_TABLE && strcmp(argv[1], ".schema") == 0)
		form = SEEP_QUERY_SCRIPT;
	if (ret == 0)
		ret = read_sql(argv[1], &sql, &err);
	if (ret == 0)
		ret = seep_query_open(argv[0], values.timeout_ns, give_up, &guard, &err);
	if (ret == 0)
		ret = run_sql(&guard, sql, form, &err);
	status = SEEP_EXIT_OK;
	if (ret < 0) {
		(void)fflush(stdout);
		status = seep_complain("query", &err);
		hint_after(&err, argv[0]);
	}
	seep_query_close(&guard);
	free(sql);
	return status;
}
