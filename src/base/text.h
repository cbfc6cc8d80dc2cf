/* SPDX-License-Identifier: MIT */
/*
 * Text for people: emphasis, folding of long lines, words for a shell. A printer is all that text
 * needs to know of where it goes; what is printed is made without it, as lines and tables.
 */
#ifndef SEEP_BASE_TEXT_H
#define SEEP_BASE_TEXT_H

#include "base/error.h"
#include "base/strbuf.h"

#include <stdio.h>

enum seep_style { SEEP_STYLE_PLAIN, SEEP_STYLE_BOLD, SEEP_STYLE_DIM };

/* No line of ours is longer than this; what would be is cut by the buffer. */
enum { SEEP_LINE_BYTES_MAX = 65536 };

struct seep_printer {
	FILE *out;
	size_t width; /* columns to fit into; 0 = as wide as it needs to be */
	bool color;
};

/* For @out as it is: a terminal's width, or @fallback; colour where there may be some. */
struct seep_printer seep_printer_for(FILE *out, size_t fallback);

/* The escape sequences around emphasised text, or "" without colour. */
const char *seep_style_on(const struct seep_printer *printer, enum seep_style style);
const char *seep_style_off(const struct seep_printer *printer, enum seep_style style);

/*
 * Append @text (escaped already) cut to @columns at its end, or, with @keep_end, at its start; "…"
 * stands for what is missing. 0 = no limit.
 */
void seep_text_fit(struct seep_strbuf *buf, const char *text, size_t columns, bool keep_end);

/* A space at which seep_text_fold() does not break; printed as a plain one. */
#define SEEP_NO_BREAK "\u00a0"

/*
 * Print @text (escaped already) folded at spaces into the width, where @used columns of the first
 * line are taken; every further line is indented by @indent. A number keeps its unit.
 */
void seep_text_fold(const struct seep_printer *printer, enum seep_style style, size_t used,
		    size_t indent, const char *text);

/* Append @word so that a shell reads it back as one word; control bytes as $'\x1b'. */
void seep_text_shell_word(struct seep_strbuf *buf, const char *word);

/* The same of words with spaces between; NULL ends them, and may stand for none. */
void seep_text_shell_words(struct seep_strbuf *buf, char *const *words);

struct seep_line {
	enum seep_style style;
	bool cut;      /* where it is too long: cut, not folded */
	bool whole;    /* neither: it is to be copied */
	size_t indent; /* of folded lines */
	char *text;    /* escaped */
	char *remark;  /* dim, behind the text where there is room for it; NULL = none */
};

/* Zeroed is empty. */
struct seep_lines {
	struct seep_line *items;
	size_t count;
};

/* Append a line, folded behind two columns unless its fields are changed; it is escaped here. */
struct seep_line *seep_lines_add(struct seep_lines *lines, enum seep_style style, const char *fmt,
				 ...) SEEP_PRINTF(3, 4);

/* Remove all behind the first @count. */
void seep_lines_cut(struct seep_lines *lines, size_t count);

void seep_lines_print(const struct seep_lines *lines, const struct seep_printer *printer);

/* One line at once: escaped, and folded behind two columns. */
void seep_line_print(const struct seep_printer *printer, const char *fmt, ...) SEEP_PRINTF(2, 3);

void seep_lines_done(struct seep_lines *lines);

#endif
