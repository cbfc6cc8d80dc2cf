/* SPDX-License-Identifier: MIT */
/* Printing rows. */
#include "cli/query_output.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/strbuf.h"
#include "base/table.h"
#include "base/terminal.h"
#include "base/xalloc.h"

enum {
	TABLE_ROWS_MAX = 100000,
	TABLE_BYTES_MAX = 256 * 1024 * 1024, /* of all cells, before escaping */
	TABLE_CELL_BYTES = 64,		     /* what an empty one takes */
	TEXT_BYTES_MAX = 128 * 1024 * 1024,  /* of a row of JSON, or a cell escaped */
	HEX_CHUNK_BYTES = 256,
};

static void add_hex(struct seep_strbuf *buf, const unsigned char *bytes, size_t count)
{
	static const char digits[] = "0123456789abcdef";
	char chunk[2 * HEX_CHUNK_BYTES];

	while (count > 0) {
		size_t part = count < HEX_CHUNK_BYTES ? count : HEX_CHUNK_BYTES;

		for (size_t i = 0; i < part; i++) {
			chunk[2 * i] = digits[bytes[i] >> 4];
			chunk[2 * i + 1] = digits[bytes[i] & 15];
		}
		seep_strbuf_add(buf, chunk, 2 * part);
		bytes += part;
		count -= part;
	}
}

/* The value as plain text; NULL gives nothing. */
static void add_plain(struct seep_strbuf *buf, sqlite3_stmt *statement, int column)
{
	const void *text;

	switch (sqlite3_column_type(statement, column)) {
	case SQLITE_NULL:
		return;
	case SQLITE_BLOB:
		text = sqlite3_column_blob(statement, column);
		add_hex(buf, text, (size_t)sqlite3_column_bytes(statement, column));
		return;
	default:
		text = sqlite3_column_text(statement, column);
		if (text)
			seep_strbuf_add(buf, text, (size_t)sqlite3_column_bytes(statement, column));
	}
}

/* ---- table --------------------------------------------------------------------------------- */

/* Numbers to the right, by the first row: a SQL column has no type of its own. */
static struct seep_column *make_columns(sqlite3_stmt *statement, int count, bool has_row)
{
	struct seep_column *columns = seep_xcalloc((size_t)count, sizeof(*columns));

	for (int i = 0; i < count; i++) {
		int type = has_row ? sqlite3_column_type(statement, i) : SQLITE_TEXT;
		bool number = type == SQLITE_INTEGER || type == SQLITE_FLOAT;

		columns[i].heading = seep_escape_dup(sqlite3_column_name(statement, i));
		columns[i].align = number ? SEEP_ALIGN_RIGHT : SEEP_ALIGN_LEFT;
		columns[i].cut = number ? SEEP_CUT_NEVER : SEEP_CUT_END;
	}
	return columns;
}

static void free_columns(struct seep_column *columns, int count)
{
	for (int i = 0; i < count; i++)
		free((void *)(uintptr_t)columns[i].heading);
	free(columns);
}

/* Returns the bytes it takes. */
static size_t add_row(struct seep_table *table, sqlite3_stmt *statement, int count)
{
	struct seep_strbuf cell;
	size_t bytes = 0;

	seep_strbuf_init(&cell, TEXT_BYTES_MAX);
	for (int i = 0; i < count; i++) {
		add_plain(&cell, statement, i);
		seep_table_add(table, cell.text);
		bytes += TABLE_CELL_BYTES + cell.length;
		seep_strbuf_clear(&cell);
	}
	seep_strbuf_done(&cell);
	return bytes;
}

static int print_table(sqlite3_stmt *statement, FILE *out, struct seep_error *err)
{
	int count = sqlite3_column_count(statement);
	int step = sqlite3_step(statement);
	struct seep_column *columns = make_columns(statement, count, step == SQLITE_ROW);
	struct seep_table *table = seep_table_new(columns, (size_t)count);
	const size_t width = seep_terminal_width(fileno(out), 0);
	size_t bytes = 0;
	int ret = 0;

	for (; step == SQLITE_ROW; step = sqlite3_step(statement)) {
		if (seep_table_rows(table) == TABLE_ROWS_MAX) {
			ret = seep_fail(err, SEEP_ELIMIT, "more than %d rows; use --csv or --json",
					TABLE_ROWS_MAX);
			goto out;
		}
		bytes += add_row(table, statement, count);
		if (bytes > TABLE_BYTES_MAX) {
			ret = seep_fail(err, SEEP_ELIMIT,
					"more text than a table can hold; use --csv or --json");
			goto out;
		}
	}
	if (step != SQLITE_DONE)
		ret = 1;
	else if (seep_table_fits(table, width))
		seep_table_print(table, out, width);
	else
		seep_table_print_upright(table, out);
out:
	seep_table_free(table);
	free_columns(columns, count);
	return ret;
}

/* ---- JSON ---------------------------------------------------------------------------------- */

static void add_json_text(struct seep_strbuf *buf, const char *text, size_t bytes)
{
	seep_strbuf_addc(buf, '"');
	while (bytes) {
		unsigned code;
		size_t length = seep_utf8_decode(text, bytes, &code);

		if (!length) {
			seep_strbuf_addf(buf, "\\\\x%02x", (unsigned)(unsigned char)*text);
			length = 1;
		} else if (code == '\\' && bytes > 1 && text[1] == 'x') {
			/* So that what was written as \xNN can be told from text that says so. */
			seep_strbuf_adds(buf, "\\\\x5c");
		} else if (code == '"' || code == '\\') {
			seep_strbuf_addf(buf, "\\%c", (char)code);
		} else if (seep_utf8_is_unsafe(code)) {
			seep_strbuf_addf(buf, "\\u%04x", code);
		} else {
			seep_strbuf_add(buf, text, length);
		}
		text += length;
		bytes -= length;
	}
	seep_strbuf_addc(buf, '"');
}

static void add_json_value(struct seep_strbuf *buf, sqlite3_stmt *statement, int column,
			   bool strings)
{
	double number;

	switch (sqlite3_column_type(statement, column)) {
	case SQLITE_NULL:
		seep_strbuf_adds(buf, "null");
		return;
	case SQLITE_INTEGER:
		seep_strbuf_adds(buf, strings ? "\"" : "");
		add_plain(buf, statement, column);
		seep_strbuf_adds(buf, strings ? "\"" : "");
		return;
	case SQLITE_FLOAT:
		number = sqlite3_column_double(statement, column);
		if (isfinite(number))
			seep_strbuf_addf(buf, "%.17g", number);
		else
			seep_strbuf_adds(buf, "null");
		return;
	case SQLITE_BLOB:
		seep_strbuf_addc(buf, '"');
		add_plain(buf, statement, column);
		seep_strbuf_addc(buf, '"');
		return;
	default:
		add_json_text(buf, (const char *)sqlite3_column_text(statement, column),
			      (size_t)sqlite3_column_bytes(statement, column));
	}
}

static int check_names(sqlite3_stmt *statement, int count, struct seep_error *err)
{
	for (int i = 0; i < count; i++) {
		for (int j = 0; j < i; j++) {
			const char *name = sqlite3_column_name(statement, i);

			if (strcmp(name, sqlite3_column_name(statement, j)) == 0)
				return seep_fail(err, SEEP_EUSAGE,
						 "two columns are named %s; rename one with AS",
						 name);
		}
	}
	return 0;
}

static int print_json(sqlite3_stmt *statement, bool strings, FILE *out, struct seep_error *err)
{
	int count = sqlite3_column_count(statement);
	struct seep_strbuf line;
	bool first = true;
	bool overflowed;
	int step;
	int ret = check_names(statement, count, err);

	if (ret < 0)
		return ret;
	seep_strbuf_init(&line, TEXT_BYTES_MAX);
	while ((step = sqlite3_step(statement)) == SQLITE_ROW) {
		seep_strbuf_adds(&line, first ? "[\n{" : ",\n{");
		first = false;
		for (int i = 0; i < count; i++) {
			const char *name = sqlite3_column_name(statement, i);

			seep_strbuf_adds(&line, i ? "," : "");
			add_json_text(&line, name, strlen(name));
			seep_strbuf_addc(&line, ':');
			add_json_value(&line, statement, i, strings);
		}
		seep_strbuf_addc(&line, '}');
		if (line.overflowed)
			break;
		(void)fwrite(line.text, 1, line.length, out);
		seep_strbuf_clear(&line);
	}
	overflowed = line.overflowed;
	seep_strbuf_done(&line);
	/* Cut output must not parse: a failure leaves the array open. */
	if (overflowed)
		return seep_fail(err, SEEP_ELIMIT, "a row is longer than %d bytes", TEXT_BYTES_MAX);
	if (step != SQLITE_DONE)
		return 1;
	(void)fputs(first ? "[]\n" : "\n]\n", out);
	return 0;
}

/* ---- CSV ----------------------------------------------------------------------------------- */

static void print_csv_field(const char *text, size_t bytes, FILE *out)
{
	size_t plain = 0;

	while (plain < bytes && !strchr("\",\r\n", text[plain]))
		plain++;
	if (plain == bytes) {
		(void)fwrite(text, 1, bytes, out);
		return;
	}
	(void)fputc('"', out);
	for (size_t i = 0; i < bytes; i++) {
		if (text[i] == '"')
			(void)fputc('"', out);
		(void)fputc(text[i], out);
	}
	(void)fputc('"', out);
}

/* Escaped for a terminal; as it is for a file. */
static void print_csv_cell(struct seep_strbuf *cell, bool escape, FILE *out)
{
	struct seep_strbuf escaped;

	if (!escape) {
		print_csv_field(cell->text, cell->length, out);
		return;
	}
	seep_strbuf_init(&escaped, TEXT_BYTES_MAX);
	seep_escape(&escaped, cell->text, cell->length);
	print_csv_field(escaped.text, escaped.length, out);
	seep_strbuf_done(&escaped);
}

static int print_csv(sqlite3_stmt *statement, FILE *out)
{
	int count = sqlite3_column_count(statement);
	bool escape = seep_terminal_is(fileno(out));
	struct seep_strbuf cell;
	int step;

	seep_strbuf_init(&cell, TEXT_BYTES_MAX);
	for (int i = 0; i < count; i++) {
		seep_strbuf_adds(&cell, sqlite3_column_name(statement, i));
		print_csv_cell(&cell, escape, out);
		(void)fputs(i + 1 == count ? "\n" : ",", out);
		seep_strbuf_clear(&cell);
	}
	while ((step = sqlite3_step(statement)) == SQLITE_ROW) {
		for (int i = 0; i < count; i++) {
			add_plain(&cell, statement, i);
			print_csv_cell(&cell, escape, out);
			(void)fputs(i + 1 == count ? "\n" : ",", out);
			seep_strbuf_clear(&cell);
		}
	}
	seep_strbuf_done(&cell);
	return step == SQLITE_DONE ? 0 : 1;
}

/* ---- script -------------------------------------------------------------------------------- */

static void print_statement(const char *sql, FILE *out)
{
	struct seep_strbuf text;

	seep_strbuf_init(&text, TEXT_BYTES_MAX);
	while (*sql) {
		size_t bytes = strcspn(sql, "\n\t");

		seep_escape(&text, sql, bytes);
		sql += bytes;
		if (*sql)
			seep_strbuf_addc(&text, *sql++);
	}
	(void)fprintf(out, "%s;\n", text.text);
	seep_strbuf_done(&text);
}

static int print_script(sqlite3_stmt *statement, FILE *out)
{
	int step;

	while ((step = sqlite3_step(statement)) == SQLITE_ROW)
		print_statement((const char *)sqlite3_column_text(statement, 0), out);
	return step == SQLITE_DONE ? 0 : 1;
}

int seep_query_print(sqlite3_stmt *statement, enum seep_query_form form, FILE *out,
		     struct seep_error *err)
{
	switch (form) {
	case SEEP_QUERY_JSON:
	case SEEP_QUERY_JSON_STRINGS:
		return print_json(statement, form == SEEP_QUERY_JSON_STRINGS, out, err);
	case SEEP_QUERY_CSV:
		return print_csv(statement, out);
	case SEEP_QUERY_SCRIPT:
		return print_script(statement, out);
	case SEEP_QUERY_TABLE:
		break;
	}
	return print_table(statement, out, err);
}
