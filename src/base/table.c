/* SPDX-License-Identifier: MIT */
#include "base/table.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/strbuf.h"
#include "base/terminal.h"
#include "base/xalloc.h"

enum {
	GAP_COLUMNS = 2,
	LEAST_FLEXIBLE_COLUMNS = 12,
	FAIR_FLEXIBLE_COLUMNS = 16, /* rather than less, an optional column goes */
	ALIGNED_COLUMNS_MAX = 60,   /* without a limit: one giant must not push all others away */
	CELL_MAX_BYTES = 64 * 1024 * 1024,
};

/* In place of a column's width: it is not shown. */
#define HIDDEN SIZE_MAX

struct cell {
	char *text;
	char *brief;  /* instead of it where there is little room, or NULL */
	size_t width; /* in columns */
	size_t brief_width;
	enum seep_style style;
	bool line;	   /* takes the whole line; the row's other cells are empty */
	enum seep_cut cut; /* of a line */
};

struct seep_table {
	const struct seep_column *columns;
	size_t column_count;
	struct cell *cells; /* row after row */
	size_t cell_count;
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
	for (size_t i = 0; i < table->cell_count; i++) {
		free(table->cells[i].text);
		free(table->cells[i].brief);
	}
	free(table->cells);
	free(table);
}

static struct cell *add_cell(struct seep_table *table, const char *text, size_t bytes)
{
	struct cell *cell = SEEP_APPEND(table->cells, table->cell_count);

	*cell = (struct cell){ .text = seep_escape_bytes(text ? text : "", bytes) };
	cell->width = cell->brief_width = seep_display_width(cell->text, strlen(cell->text));
	return cell;
}

void seep_table_add(struct seep_table *table, const char *text)
{
	(void)add_cell(table, text, text ? strlen(text) : 0);
}

void seep_table_add_bytes(struct seep_table *table, const char *text, size_t bytes)
{
	(void)add_cell(table, text, bytes);
}

void seep_table_add_styled(struct seep_table *table, enum seep_style style, const char *text,
			   const char *brief)
{
	struct cell *cell = add_cell(table, text, text ? strlen(text) : 0);

	cell->style = style;
	if (brief) {
		cell->brief = seep_escape_dup(brief);
		cell->brief_width = seep_display_width(cell->brief, strlen(cell->brief));
	}
}

void seep_table_add_line(struct seep_table *table, enum seep_style style, enum seep_cut cut,
			 const char *text)
{
	while (table->cell_count % table->column_count)
		seep_table_add(table, NULL);
	seep_table_add_styled(table, style, text, NULL);
	table->cells[table->cell_count - 1].line = true;
	table->cells[table->cell_count - 1].cut = cut;
	while (table->cell_count % table->column_count)
		seep_table_add(table, NULL);
}

size_t seep_table_rows(const struct seep_table *table)
{
	return table->cell_count / table->column_count;
}

static bool is_flexible(const struct seep_column *column)
{
	return column->cut != SEEP_CUT_NEVER;
}

static size_t heading_width(const struct seep_column *column)
{
	return column->heading ? seep_display_width(column->heading, strlen(column->heading)) : 0;
}

static bool has_headings(const struct seep_table *table)
{
	for (size_t i = 0; i < table->column_count; i++)
		if (table->columns[i].heading)
			return true;
	return false;
}

static void natural_widths(const struct seep_table *table, bool brief, size_t *widths)
{
	for (size_t i = 0; i < table->column_count; i++)
		widths[i] = heading_width(&table->columns[i]);
	for (size_t i = 0; i < table->cell_count; i++) {
		const struct cell *cell = &table->cells[i];
		const size_t width = brief ? cell->brief_width : cell->width;

		if (!cell->line && width > widths[i % table->column_count])
			widths[i % table->column_count] = width;
	}
}

/* The widest column that may still be cut, or column_count. */
static size_t widest_flexible(const struct seep_table *table, const size_t *widths)
{
	size_t widest = table->column_count;

	for (size_t i = 0; i < table->column_count; i++) {
		if (!is_flexible(&table->columns[i]) || widths[i] == HIDDEN ||
		    widths[i] <= LEAST_FLEXIBLE_COLUMNS)
			continue;
		if (widest == table->column_count || widths[i] > widths[widest])
			widest = i;
	}
	return widest;
}

/* With @flexible_max columns for those that may be cut. */
static size_t sum_widths(const struct seep_table *table, const size_t *widths, size_t flexible_max)
{
	size_t total = 0;

	for (size_t i = 0; i < table->column_count; i++) {
		if (widths[i] == HIDDEN)
			continue;
		total += total > 0 ? GAP_COLUMNS : 0;
		total += is_flexible(&table->columns[i]) && widths[i] > flexible_max ? flexible_max
										     : widths[i];
	}
	return total;
}

static void hide_columns(const struct seep_table *table, size_t *widths, size_t limit)
{
	for (unsigned turn = 1; turn <= table->column_count; turn++)
		for (size_t i = 0; i < table->column_count; i++)
			if (table->columns[i].drop == turn &&
			    sum_widths(table, widths, FAIR_FLEXIBLE_COLUMNS) > limit)
				widths[i] = HIDDEN;
}

/* What is over after brief cells stand for long ones: columns that it is enough for are whole. */
static size_t give_back(const struct seep_table *table, const size_t *natural, size_t *widths,
			size_t total, size_t limit)
{
	for (size_t i = table->column_count; i-- > 0 && total < limit;) {
		const size_t more = natural[i] > widths[i] ? natural[i] - widths[i] : 0;

		if (more > limit - total)
			continue;
		widths[i] += more;
		total += more;
	}
	return total;
}

/* Returns how wide the table is then. */
static size_t fit_widths(const struct seep_table *table, size_t *widths, size_t limit)
{
	SEEP_FREED size_t *natural = seep_xcalloc(table->column_count, sizeof(*natural));
	size_t total;

	natural_widths(table, false, natural);
	total = sum_widths(table, natural, SIZE_MAX);
	if (limit == 0 || total <= limit) {
		memcpy(widths, natural, table->column_count * sizeof(*widths));
		for (size_t i = 0; limit == 0 && !has_headings(table) && i < table->column_count;
		     i++)
			if (widths[i] > ALIGNED_COLUMNS_MAX && is_flexible(&table->columns[i]))
				widths[i] = ALIGNED_COLUMNS_MAX;
		return total;
	}
	natural_widths(table, true, widths);
	hide_columns(table, widths, limit);
	for (size_t i = 0; i < table->column_count; i++)
		if (is_flexible(&table->columns[i]) && widths[i] != HIDDEN && widths[i] > limit &&
		    limit > LEAST_FLEXIBLE_COLUMNS)
			widths[i] = limit;
	total = sum_widths(table, widths, SIZE_MAX);
	/* One column of the widest at a time, so that equals share the loss. */
	while (total > limit) {
		size_t widest = widest_flexible(table, widths);

		if (widest == table->column_count)
			break;
		widths[widest]--;
		total--;
	}
	return give_back(table, natural, widths, total, limit);
}

struct printing {
	const struct seep_printer *to;
	size_t *widths;
	size_t indent;
	size_t owed; /* spaces that are printed when something follows them */
};

static void print_cell(struct printing *p, const struct seep_column *column,
		       const struct cell *cell, size_t width)
{
	const size_t room = p->to->width ? width : 0; /* 0: it is printed whole */
	const bool is_brief = cell->brief && room && cell->width > room;
	SEEP_STRBUF(text, CELL_MAX_BYTES);
	size_t used;

	seep_text_fit(&text, is_brief ? cell->brief : cell->text, room,
		      column->cut == SEEP_CUT_START);
	used = seep_display_width(text.text, text.length);
	if (column->align == SEEP_ALIGN_RIGHT && used < width)
		p->owed += width - used;
	if (used > 0) {
		fprintf(p->to->out, "%*s%s%s%s", (int)p->owed, "",
			seep_style_on(p->to, cell->style), text.text,
			seep_style_off(p->to, cell->style));
		p->owed = 0;
	}
	if (column->align == SEEP_ALIGN_LEFT && used < width)
		p->owed += width - used;
}

static void print_row(struct printing *p, const struct seep_table *table, const struct cell *cells,
		      size_t count)
{
	const struct seep_column whole = { .cut = cells->cut };

	p->owed = p->indent;
	if (cells->line) {
		size_t room = p->to->width > p->indent ? p->to->width - p->indent : 1;

		print_cell(p, &whole, cells, cells->cut == SEEP_CUT_NEVER ? 0 : room);
	} else {
		for (size_t i = 0; i < count; i++) {
			if (p->widths[i] == HIDDEN)
				continue;
			p->owed += i ? GAP_COLUMNS : 0;
			print_cell(p, &table->columns[i], &cells[i], p->widths[i]);
		}
	}
	fputc('\n', p->to->out);
}

static void print_headings(struct printing *p, const struct seep_table *table)
{
	SEEP_RELEASED(seep_table_free_at)
	struct seep_table *headings = seep_table_new(table->columns, table->column_count);

	for (size_t i = 0; i < table->column_count; i++)
		seep_table_add(headings, table->columns[i].heading);
	print_row(p, table, headings->cells, table->column_count);
}

void seep_table_print(const struct seep_table *table, const struct seep_printer *printer,
		      size_t indent)
{
	SEEP_FREED size_t *widths = seep_xcalloc(table->column_count, sizeof(*widths));
	struct printing p = { .to = printer, .widths = widths, .indent = indent };

	(void)fit_widths(table, widths,
			 printer->width > indent ? printer->width - indent : printer->width);
	if (has_headings(table))
		print_headings(&p, table);
	for (size_t i = 0; i < table->cell_count; i += table->column_count)
		print_row(&p, table, &table->cells[i],
			  table->cell_count - i < table->column_count ? table->cell_count - i
								      : table->column_count);
}

bool seep_table_fits(const struct seep_table *table, size_t width)
{
	SEEP_FREED size_t *widths = seep_xcalloc(table->column_count, sizeof(*widths));

	return width == 0 || fit_widths(table, widths, width) <= width;
}

void seep_table_print_upright(const struct seep_table *table, FILE *out)
{
	size_t widest = 0;

	for (size_t i = 0; i < table->column_count; i++)
		if (heading_width(&table->columns[i]) > widest)
			widest = heading_width(&table->columns[i]);
	for (size_t i = 0; i < table->cell_count; i++) {
		size_t column = i % table->column_count;
		const char *heading = table->columns[column].heading;
		size_t used = heading_width(&table->columns[column]);

		if (column == 0 && i > 0)
			(void)fputc('\n', out);
		(void)fputs(heading ? heading : "", out);
		if (table->cells[i].width > 0)
			(void)fprintf(out, "%*s%s", (int)(widest - used + GAP_COLUMNS), "",
				      table->cells[i].text);
		(void)fputc('\n', out);
	}
}
