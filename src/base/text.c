/* SPDX-License-Identifier: MIT */
#include "base/text.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/terminal.h"
#include "base/xalloc.h"

struct seep_printer seep_printer_for(FILE *out, size_t fallback)
{
	const int fd = fileno(out);

	return (struct seep_printer){ out, seep_terminal_width(fd, fallback),
				      seep_terminal_color(fd) };
}

const char *seep_style_on(const struct seep_printer *printer, enum seep_style style)
{
	if (!printer->color || style == SEEP_STYLE_PLAIN)
		return "";
	return style == SEEP_STYLE_BOLD ? "\033[1m" : "\033[2m";
}

const char *seep_style_off(const struct seep_printer *printer, enum seep_style style)
{
	return printer->color && style != SEEP_STYLE_PLAIN ? "\033[0m" : "";
}

/* The longest end of @text that fits into @columns, starting at a character. */
static const char *fitting_end(const char *text, size_t bytes, size_t columns)
{
	const char *end = text + bytes;
	size_t width = seep_display_width(text, bytes);

	while (text < end && width > columns) {
		unsigned code;
		size_t step = seep_utf8_decode(text, (size_t)(end - text), &code);

		if (step == 0)
			step = 1;
		width -= seep_display_width(text, step);
		text += step;
	}
	return text;
}

void seep_text_fit(struct seep_strbuf *buf, const char *text, size_t columns, bool keep_end)
{
	const size_t bytes = strlen(text);

	if (columns == 0 || seep_display_width(text, bytes) <= columns) {
		seep_strbuf_add(buf, text, bytes);
	} else if (keep_end) {
		seep_strbuf_adds(buf, "…");
		seep_strbuf_adds(buf, fitting_end(text, bytes, columns - 1));
	} else {
		size_t fit = seep_display_fit(text, bytes, columns - 1, NULL);

		/* What was shortened before, "f<…>", may be cut right behind its own. */
		if (fit >= strlen("…") && memcmp(text + fit - strlen("…"), "…", strlen("…")) == 0)
			fit -= strlen("…");
		seep_strbuf_add(buf, text, fit);
		seep_strbuf_adds(buf, "…");
	}
}

/* Bytes up to where a line may end; "2.3 s" and "1,034 blocks" stay together. */
static size_t unbroken(const char *text)
{
	size_t bytes = strcspn(text, " ");

	while (bytes > 0 && text[bytes] == ' ' && isdigit((unsigned char)text[bytes - 1]) &&
	       isalpha((unsigned char)text[bytes + 1]))
		bytes += 1 + strcspn(text + bytes + 1, " ");
	return bytes;
}

/* Print @text with no-break spaces as spaces: they have done their work. */
static void put_words(FILE *out, const char *text, size_t bytes)
{
	static const char no_break[] = SEEP_NO_BREAK;
	const char *end = text + bytes;
	const char *space;

	while ((space = memmem(text, (size_t)(end - text), no_break, strlen(no_break)))) {
		(void)fwrite(text, 1, (size_t)(space - text), out);
		fputc(' ', out);
		text = space + strlen(no_break);
	}
	(void)fwrite(text, 1, (size_t)(end - text), out);
}

void seep_text_fold(const struct seep_printer *printer, enum seep_style style, size_t used,
		    size_t indent, const char *text)
{
	FILE *out = printer->out;
	size_t at = used;
	bool line_empty = true;

	fputs(seep_style_on(printer, style), out);
	while (*text != '\0') {
		const size_t bytes = unbroken(text);
		const size_t columns = seep_display_width(text, bytes);

		if (!line_empty && printer->width > 0 && at + 1 + columns > printer->width) {
			fprintf(out, "%s\n%*s%s", seep_style_off(printer, style), (int)indent, "",
				seep_style_on(printer, style));
			at = indent;
			line_empty = true;
		}
		if (!line_empty)
			fputc(' ', out);
		put_words(out, text, bytes);
		at += columns + !line_empty;
		line_empty = false;
		text += bytes;
		text += strspn(text, " ");
	}
	fprintf(out, "%s\n", seep_style_off(printer, style));
}

static bool needs_no_quotes(const char *word)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "0123456789_./-+,:@%=";

	return *word != '\0' && word[strspn(word, plain)] == '\0';
}

/* The escapes of $'…' are those of seep_escape(), and a backslash is itself only when doubled. */
static void add_ansi_c_quoted(struct seep_strbuf *buf, const char *word)
{
	seep_strbuf_adds(buf, "$'");
	while (*word != '\0') {
		const size_t plain = strcspn(word, "\\'");

		seep_escape(buf, word, plain);
		word += plain;
		if (*word != '\0')
			seep_strbuf_addf(buf, "\\%c", *word++);
	}
	seep_strbuf_addc(buf, '\'');
}

void seep_text_shell_word(struct seep_strbuf *buf, const char *word)
{
	SEEP_FREED char *escaped = NULL;

	if (needs_no_quotes(word)) {
		seep_strbuf_adds(buf, word);
		return;
	}
	escaped = seep_escape_dup(word);
	if (strcmp(escaped, word) != 0) {
		add_ansi_c_quoted(buf, word);
	} else {
		seep_strbuf_addc(buf, '\'');
		for (; *word != '\0'; word++) {
			if (*word == '\'')
				seep_strbuf_adds(buf, "'\\''");
			else
				seep_strbuf_addc(buf, *word);
		}
		seep_strbuf_addc(buf, '\'');
	}
}

void seep_text_shell_words(struct seep_strbuf *buf, char *const *words)
{
	for (char *const *word = words; word != NULL && *word != NULL; word++) {
		if (word != words)
			seep_strbuf_addc(buf, ' ');
		seep_text_shell_word(buf, *word);
	}
}

struct seep_line *seep_lines_add(struct seep_lines *lines, enum seep_style style, const char *fmt,
				 ...)
{
	struct seep_line *line;
	va_list args;
	SEEP_FREED char *text = NULL;

	va_start(args, fmt);
	text = seep_xvasprintf(fmt, args);
	va_end(args);
	line = SEEP_APPEND(lines->items, lines->count);
	*line = (struct seep_line){ .style = style, .indent = 2, .text = seep_escape_dup(text) };
	return line;
}

static void print_cut(const struct seep_line *line, const struct seep_printer *printer)
{
	const size_t used = seep_display_width(line->text, strlen(line->text));
	SEEP_STRBUF(text, SEEP_LINE_BYTES_MAX);

	seep_text_fit(&text, line->text, line->whole ? 0 : printer->width, false);
	fprintf(printer->out, "%s%s%s", seep_style_on(printer, line->style), text.text,
		seep_style_off(printer, line->style));
	if (line->remark && (printer->width == 0 || used + strlen(line->remark) <= printer->width))
		fprintf(printer->out, "%s%s%s", seep_style_on(printer, SEEP_STYLE_DIM),
			line->remark, seep_style_off(printer, SEEP_STYLE_DIM));
	fputc('\n', printer->out);
}

void seep_lines_print(const struct seep_lines *lines, const struct seep_printer *printer)
{
	for (size_t i = 0; i < lines->count; i++) {
		const struct seep_line *line = &lines->items[i];

		if (line->cut || line->whole)
			print_cut(line, printer);
		else
			seep_text_fold(printer, line->style, 0, line->indent, line->text);
	}
}

void seep_lines_cut(struct seep_lines *lines, size_t count)
{
	while (lines->count > count) {
		free(lines->items[--lines->count].text);
		free(lines->items[lines->count].remark);
	}
}

void seep_lines_done(struct seep_lines *lines)
{
	seep_lines_cut(lines, 0);
	free(lines->items);
	*lines = (struct seep_lines){ 0 };
}

void seep_line_print(const struct seep_printer *printer, const char *fmt, ...)
{
	SEEP_FREED char *text = NULL, *escaped = NULL;
	va_list args;

	va_start(args, fmt);
	text = seep_xvasprintf(fmt, args);
	va_end(args);
	escaped = seep_escape_dup(text);
	seep_text_fold(printer, SEEP_STYLE_PLAIN, 0, 2, escaped);
}
