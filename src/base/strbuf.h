/* SPDX-License-Identifier: MIT */
/*
 * A text that grows, with a ceiling. Text built from a hostile file cannot take all memory: an
 * addition that would pass the ceiling is left out as a whole, every later one too, and the buffer
 * remembers it, so that a caller asks once at the end instead of after every addition.
 *
 *	SEEP_STRBUF(line, 64 * 1024);
 *
 *	seep_strbuf_addf(&line, "%s:%u", file, number);
 *	if (line.overflowed)
 *		...
 *	fputs(line.text, out);
 */
#ifndef SEEP_BASE_STRBUF_H
#define SEEP_BASE_STRBUF_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/release.h"

/* Read the fields freely; change them only through the functions. */
struct seep_strbuf {
	char *text;	 /* never NULL after _of, always terminated */
	size_t length;	 /* bytes before the terminator; the text may contain NUL bytes */
	size_t capacity; /* bytes allocated at text; 0 while text is the shared empty string */
	size_t ceiling;	 /* greatest length */
	bool overflowed; /* something was left out */
};

/* An empty one. @ceiling: greatest length in bytes. Allocates nothing yet. */
struct seep_strbuf seep_strbuf_of(size_t ceiling);

/* Declare one as a local variable, which is released in the end. */
#define SEEP_STRBUF(name, most) \
	SEEP_RELEASED(seep_strbuf_done) struct seep_strbuf name = seep_strbuf_of(most)

/* Release the text. The buffer may be initialised again. Zeroed storage is accepted. */
void seep_strbuf_done(struct seep_strbuf *buf);

/* Empty it, keep the storage, forget an overflow. */
void seep_strbuf_clear(struct seep_strbuf *buf);

void seep_strbuf_add(struct seep_strbuf *buf, const void *data, size_t bytes);
void seep_strbuf_adds(struct seep_strbuf *buf, const char *text);
void seep_strbuf_addc(struct seep_strbuf *buf, char byte);
void seep_strbuf_addf(struct seep_strbuf *buf, const char *fmt, ...) SEEP_PRINTF(2, 3);

/* Shorten to @length bytes; a greater @length changes nothing. */
void seep_strbuf_cut(struct seep_strbuf *buf, size_t length);

/* Give the text to the caller, who releases it with free(). The buffer is empty afterwards. */
char *seep_strbuf_take(struct seep_strbuf *buf) __attribute__((returns_nonnull));

#endif
