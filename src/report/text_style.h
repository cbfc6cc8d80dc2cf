/* SPDX-License-Identifier: MIT */
/* Emphasis, folding of long lines, and words for a shell: what all text views share. */
#ifndef SEEP_REPORT_TEXT_STYLE_H
#define SEEP_REPORT_TEXT_STYLE_H

#include "base/strbuf.h"
#include "report/report.h"

enum seep_style { SEEP_STYLE_PLAIN, SEEP_STYLE_BOLD, SEEP_STYLE_DIM };

/* No line of ours is longer than this; what would be is cut by the buffer. */
enum { SEEP_LINE_BYTES_MAX = 65536 };

/* The escape sequences around emphasised text, or "" when options->color is false. */
const char *seep_style_on(const struct seep_report_options *options, enum seep_style style);
const char *seep_style_off(const struct seep_report_options *options, enum seep_style style);

/*
 * Append @text (escaped already) cut to @columns at its end, or, with @keep_end, at its start; "…"
 * stands for what is missing. 0 = no limit.
 */
void seep_text_fit(struct seep_strbuf *buf, const char *text, size_t columns, bool keep_end);

/* Append spaces until what was added since @start takes @columns. */
void seep_text_pad(struct seep_strbuf *buf, size_t start, size_t columns);

/* A space at which seep_text_fold() does not break; printed as a plain one. */
#define SEEP_NO_BREAK "\u00a0"

/*
 * Print @text (escaped already) folded at spaces into options->width, where @used columns of the
 * first line are taken; every further line is indented by @indent. A number keeps its unit.
 */
void seep_text_fold(FILE *out, const struct seep_report_options *options, enum seep_style style,
		    size_t used, size_t indent, const char *text);

/* Append @word so that a shell reads it back as one word; control bytes as $'\x1b'. */
void seep_text_shell_word(struct seep_strbuf *buf, const char *word);

#endif
