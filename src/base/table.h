/* SPDX-License-Identifier: MIT */
/*
 * A text table: cells are escaped as they come in, columns are as wide as they need to be, and when
 * the whole is wider than the terminal the flexible columns give way, longest first.
 *
 *	static const struct seep_column columns[] = {
 *		{ "LIVE", SEEP_ALIGN_RIGHT, SEEP_CUT_NEVER, 0 },
 *		{ "FUNCTION", SEEP_ALIGN_LEFT, SEEP_CUT_END, 0 },
 *	};
 *	SEEP_TABLE(table, columns);
 *
 *	seep_table_add(table, seep_bytes_text(bytes).text);
 *	seep_table_add(table, function);
 *	seep_table_print(table, &printer, 0);
 */
#ifndef SEEP_BASE_TABLE_H
#define SEEP_BASE_TABLE_H

#include "base/text.h"

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
	unsigned drop; /* left out where names would have too little room: 1 first; 0 = never */
};

struct seep_table;

/* @columns must outlive the table; at least one column. */
struct seep_table *seep_table_new(const struct seep_column *columns, size_t column_count)
	__attribute__((returns_nonnull));

void seep_table_free(struct seep_table *table);
SEEP_FREE_AT(struct seep_table, seep_table_free)

/* Declare a local one with all of an array of columns, which is released in the end. */
#define SEEP_TABLE(name, columns)         \
	SEEP_RELEASED(seep_table_free_at) \
	struct seep_table *name = seep_table_new(columns, sizeof(columns) / sizeof((columns)[0]))

/* The next cell, row after row. Copied and escaped. NULL is an empty cell. */
void seep_table_add(struct seep_table *table, const char *cell);

/* The same of text that may have bytes of zero. */
void seep_table_add_bytes(struct seep_table *table, const char *cell, size_t bytes);

/* The same, emphasised; @brief stands for it where it would have to be cut; NULL = nothing does. */
void seep_table_add_styled(struct seep_table *table, enum seep_style style, const char *cell,
			   const char *brief);

/* A line between the rows that keeps to no column. */
void seep_table_add_line(struct seep_table *table, enum seep_style style, enum seep_cut cut,
			 const char *text);

/* Whole rows added so far. */
size_t seep_table_rows(const struct seep_table *table);

/**
 * seep_table_print - write the table
 * @indent: columns before each row
 *
 * Two spaces between columns, nothing at the end of a line. A flexible column keeps at least 12
 * columns, so when all columns that may go have gone, a very narrow terminal is overrun rather than
 * left without names. Without a limit nothing is cut; in a table without headings what is wider than
 * 60 columns does not widen its column then. An unfinished last row is filled with empty cells.
 */
void seep_table_print(const struct seep_table *table, const struct seep_printer *printer,
		      size_t indent);

/* Whether seep_table_print() at @width overruns no line. */
bool seep_table_fits(const struct seep_table *table, size_t width);

/* For what does not fit: a line "HEADING  value" for each cell, uncut; empty lines between rows. */
void seep_table_print_upright(const struct seep_table *table, FILE *out);

#endif
