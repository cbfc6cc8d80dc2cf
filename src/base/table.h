/* SPDX-License-Identifier: MIT */
/*
 * A text table: cells are escaped as they come in, columns are as wide as they need to be, and when
 * the whole is wider than the terminal the flexible columns give way, longest first.
 *
 *	static const struct seep_column columns[] = {
 *		{ "LIVE", SEEP_ALIGN_RIGHT },
 *		{ "FUNCTION", SEEP_ALIGN_LEFT, SEEP_CUT_END },
 *	};
 *	struct seep_table *table = seep_table_new(columns, 2);
 *
 *	seep_table_add(table, seep_bytes_text(bytes).text);
 *	seep_table_add(table, function);
 *	seep_table_print(table, stdout, seep_terminal_width(STDOUT_FILENO, 0));
 *	seep_table_free(table);
 */
#ifndef SEEP_BASE_TABLE_H
#define SEEP_BASE_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum seep_align { SEEP_ALIGN_LEFT, SEEP_ALIGN_RIGHT };

/* What a column does when the table is too wide. */
enum seep_cut {
	SEEP_CUT_NEVER,
	SEEP_CUT_END,	/* keep the start: function names */
	SEEP_CUT_START, /* keep the end: paths */
};

struct seep_column {
	const char *heading; /* NULL in all columns = no heading line; borrowed */
	enum seep_align align;
	enum seep_cut cut;
};

struct seep_table;

/* @columns must outlive the table; at least one column. */
struct seep_table *seep_table_new(const struct seep_column *columns, size_t column_count)
	__attribute__((returns_nonnull));

void seep_table_free(struct seep_table *table);

/* The next cell, row after row. Copied and escaped. NULL is an empty cell. */
void seep_table_add(struct seep_table *table, const char *cell);

/* Whole rows added so far. */
size_t seep_table_rows(const struct seep_table *table);

/**
 * seep_table_print - write the table
 * @width: columns to fit into; 0 = as wide as it needs to be
 *
 * Two spaces between columns, nothing at the end of a line. A flexible column keeps at least 12
 * columns, so a very narrow terminal is overrun rather than left without names. An unfinished last
 * row is filled with empty cells.
 */
void seep_table_print(const struct seep_table *table, FILE *out, size_t width);

/* Whether seep_table_print() at @width overruns no line. */
bool seep_table_fits(const struct seep_table *table, size_t width);

/* For what does not fit: a line "HEADING  value" for each cell, uncut, and an empty one between rows. */
void seep_table_print_upright(const struct seep_table *table, FILE *out);

#endif
