/* SPDX-License-Identifier: MIT */
/*
 * What may go to a terminal and how wide it is. Names, paths and arguments come from the program
 * under study and are hostile: an escape sequence in a symbol name must not reach the terminal.
 */
#ifndef SEEP_BASE_TERMINAL_H
#define SEEP_BASE_TERMINAL_H

#include <stdbool.h>
#include <stddef.h>

#include "base/strbuf.h"

/* Columns of the terminal at @fd; @fallback when it is not one or does not say. */
size_t seep_terminal_width(int fd, size_t fallback);

/* Whether to colour what goes to @fd: a terminal, not TERM=dumb, NO_COLOR unset or empty. */
bool seep_terminal_color(int fd);

/**
 * seep_escape - append @text to @buf so that any terminal shows it and does nothing else
 *
 * Control bytes (C0, DEL, C1), malformed UTF-8 and the characters that reorder text (bidirectional
 * marks and overrides, line and paragraph separators) are written as \xNN, byte by byte; tab and
 * newline as \t and \n. Everything else stays. For display only: a literal backslash is not
 * doubled.
 */
void seep_escape(struct seep_strbuf *buf, const char *text, size_t bytes);

/* The same for a whole string, into new memory; release with free(). */
char *seep_escape_dup(const char *text);
char *seep_escape_bytes(const char *text, size_t bytes);

/* Columns that already escaped UTF-8 takes: 0 for combining marks, 2 for wide characters. */
size_t seep_display_width(const char *text, size_t bytes);

/**
 * seep_display_fit - how many bytes from the start of @text fit into @columns
 * @ret_columns: columns of that prefix; may be NULL
 *
 * Cuts between characters only.
 */
size_t seep_display_fit(const char *text, size_t bytes, size_t columns, size_t *ret_columns);

/*
 * Whether a well-formed character could steer a terminal or reorder the line: control characters,
 * those of text direction, separators of lines; or is none, U+FFFE and U+FFFF.
 */
bool seep_utf8_is_unsafe(unsigned code);

/**
 * seep_utf8_decode - read one character
 * @bytes:    readable at @text, at least 1
 * @ret_code: its code point; set on success only
 *
 * Overlong forms, surrogates and values past U+10FFFF are malformed.
 *
 * Returns: its length in bytes, or 0 when malformed or cut.
 */
size_t seep_utf8_decode(const char *text, size_t bytes, unsigned *ret_code);

#endif
