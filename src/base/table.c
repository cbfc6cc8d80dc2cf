/* SPDX-License-Identifier: MIT */
/* Text tables that fit the terminal. */
#include "base/table.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/strbuf.h"
#include "base/terminal.h"
#include "base/xalloc.h"

enum { GAP_COLUMNS = 2, LEAST_FLEXIBLE_COLUMNS = 12 };

static const char ellipsis[] = "…";

struct cell {
	char *text;
	size_t bytes;
	size_t width; /* in columns */
};

struct seep_table {
	const struct seep_column *columns;
	size_t column_count;
	struct cell *cells; /* row after row */
	size_t cell_count;
	size_t cell_capacity;
};

struct seep_table *seep_table_new(const struct seep_column *columns, size_t column_count)
{
	struct seep_table *table = seep_xcalloc(1, sizeof(*table));

	table->columns = columns;
	table->column_count = column_count;
	return table;
}

void seep_table_free(struct seep_table *table)
{
	if (!table)
		return;
	for (size_t i = 0; i < table->cell_count; i++)
		free(table->cells[i].text);
	free(table->cells);
	free(table);
}

void seep_table_add(struct seep_table *table, const char *text)
{
	struct cell *cell;

	table->cells = seep_xgrow(table->cells, &table->cell_capacity, table->cell_count + 1,
				  sizeof(*table->cells));
	cell = &table->cells[table->cell_count++];
	cell->text = seep_escape_dup(text ? text : "");
	cell->bytes = strlen(cell->text);
	cell->width = seep_display_width(cell->text, cell->bytes);
}

size_t seep_table_rows(const struct seep_table *table)
{
	return table->cell_count / table->column_count;
}

static bool has_headings(const struct seep_table *table)
{
	for (size_t i = 0; i < table->column_count; i++) {
		if (table->columns[i].heading)
			return true;
	}
	return false;
}

static void natural_widths(const struct seep_table *table, size_t *widths)
{
	for (size_t i = 0; i < table->column_count; i++) {
		const char *heading = table->columns[i].heading;

		widths[i] = heading ? seep_display_width(heading, strlen(heading)) : 0;
	}
	for (size_t i = 0; i < table->cell_count; i++) {
		size_t column = i % table->column_count;

		if (table->cells[i].width > widths[column])
			widths[column] = table->cells[i].width;
	}
}

/* The widest column that may still be cut, or column_count. */
static size_t widest_flexible(const struct seep_table *table, const size_t *widths)
{
	size_t widest = table->column_count;

	for (size_t i = 0; i < table->column_count; i++) {
		if (table->columns[i].cut == SEEP_CUT_NEVER || widths[i] <= LEAST_FLEXIBLE_COLUMNS)
			continue;
		if (widest == table->column_count || widths[i] > widths[widest])
			widest = i;
	}
	return widest;
}

/* Returns how wide the table is then. */
static size_t fit_widths(const struct seep_table *table, size_t *widths, size_t limit)
{
	size_t total = GAP_COLUMNS * (table->column_count - 1);

	for (size_t i = 0; i < table->column_count; i++) {
		if (table->columns[i].cut != SEEP_CUT_NEVER && widths[i] > limit &&
		    limit > LEAST_FLEXIBLE_COLUMNS)
			widths[i] = limit;
		total += widths[i];
	}
	/* One column of the widest at a time, so that equals share the loss. */
	while (total > limit) {
		size_t widest = widest_flexible(table, widths);

		if (widest == table->column_count)
			break;
		widths[widest]--;
		total--;
	}
	return total;
}

/* @text cut to @width columns, with an ellipsis where something is missing. */
static void add_cut(struct seep_strbuf *line, const struct cell *cell, size_t width,
		    enum seep_cut cut)
{
	size_t bytes;
	size_t columns;

	if (cut == SEEP_CUT_START) {
		const char *from = cell->text;
		size_t left = cell->bytes;

		columns = cell->width;
		while (left && columns > width - 1) {
			unsigned code;
			size_t one = seep_utf8_decode(from, left, &code);

			/* Escaped text is well-formed; a byte at a time if it ever is not. */
			if (!one)
				one = 1;
			columns -= seep_display_width(from, one);
			from += one;
			left -= one;
		}
		seep_strbuf_adds(line, ellipsis);
		seep_strbuf_add(line, from, left);
		seep_strbuf_repeat(line, ' ', width - 1 - columns);
		return;
	}
	bytes = seep_display_fit(cell->text, cell->bytes, width - 1, &columns);
	seep_strbuf_add(line, cell->text, bytes);
	seep_strbuf_adds(line, ellipsis);
	seep_strbuf_repeat(line, ' ', width - 1 - columns);
}

static void add_cell(struct seep_strbuf *line, const struct seep_column *column,
		     const struct cell *cell, size_t width)
{
	if (cell->width > width) {
		add_cut(line, cell, width, column->cut);
		return;
	}
	if (column->align == SEEP_ALIGN_RIGHT)
		seep_strbuf_repeat(line, ' ', width - cell->width);
	seep_strbuf_add(line, cell->text, cell->bytes);
	if (column->align == SEEP_ALIGN_LEFT)
		seep_strbuf_repeat(line, ' ', width - cell->width);
}

/* Leaves the buffer ready for the next line. */
static void print_line(struct seep_strbuf *line, FILE *out)
{
	size_t length = line->length;

	while (length && line->text[length - 1] == ' ')
		length--;
	(void)fwrite(line->text, 1, length, out);
	(void)fputc('\n', out);
	seep_strbuf_clear(line);
}

static void print_headings(const struct seep_table *table, const size_t *widths,
			   struct seep_strbuf *line, FILE *out)
{
	for (size_t i = 0; i < table->column_count; i++) {
		const char *heading = table->columns[i].heading ? table->columns[i].heading : "";
		struct cell cell = { .text = NULL, .bytes = strlen(heading) };
		char *copy = seep_xstrdup(heading);

		cell.text = copy;
		cell.width = seep_display_width(heading, cell.bytes);
		if (i)
			seep_strbuf_repeat(line, ' ', GAP_COLUMNS);
		add_cell(line, &table->columns[i], &cell, widths[i]);
		free(copy);
	}
	print_line(line, out);
}

void seep_table_print(const struct seep_table *table, FILE *out, size_t width)
{
	size_t *widths = seep_xcalloc(table->column_count, sizeof(*widths));
	struct seep_strbuf line;

	seep_strbuf_init(&line, 64 * 1024 * 1024);
	natural_widths(table, widths);
	if (width)
		(void)fit_widths(table, widths, width);
	if (has_headings(table))
		print_headings(table, widths, &line, out);
	for (size_t i = 0; i < table->cell_count; i++) {
		size_t column = i % table->column_count;

		if (column)
			seep_strbuf_repeat(&line, ' ', GAP_COLUMNS);
		add_cell(&line, &table->columns[column], &table->cells[i], widths[column]);
		if (column + 1 == table->column_count || i + 1 == table->cell_count)
			print_line(&line, out);
	}
	seep_strbuf_done(&line);
	free(widths);
}

bool seep_table_fits(const struct seep_table *table, size_t width)
{
	size_t *widths = seep_xcalloc(table->column_count, sizeof(*widths));
	bool fits;

	natural_widths(table, widths);
	fits = width == 0 || fit_widths(table, widths, width) <= width;
	free(widths);
	return fits;
}

void seep_table_print_upright(const struct seep_table *table, FILE *out)
{
	size_t widest = 0;

	for (size_t i = 0; i < table->column_count; i++) {
		const char *heading = table->columns[i].heading;
		size_t width = heading ? seep_display_width(heading, strlen(heading)) : 0;

		if (width > widest)
			widest = width;
	}
	for (size_t i = 0; i < table->cell_count; i++) {
		size_t column = i % table->column_count;
		const char *heading = table->columns[column].heading;
		size_t used = heading ? seep_display_width(heading, strlen(heading)) : 0;

		if (column == 0 && i > 0)
			(void)fputc('\n', out);
		(void)fputs(heading ? heading : "", out);
		if (table->cells[i].bytes > 0)
			(void)fprintf(out, "%*s%s", (int)(widest - used + GAP_COLUMNS), "",
				      table->cells[i].text);
		(void)fputc('\n', out);
	}
}
