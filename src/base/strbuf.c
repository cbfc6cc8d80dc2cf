/* SPDX-License-Identifier: MIT */
#include "base/strbuf.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"

/* What text points to while nothing is allocated: readable, never written. */
static char empty[1];

struct seep_strbuf seep_strbuf_of(size_t ceiling)
{
	return (struct seep_strbuf){ .text = empty, .ceiling = ceiling };
}

void seep_strbuf_done(struct seep_strbuf *buf)
{
	if (buf->capacity)
		free(buf->text);
	*buf = seep_strbuf_of(buf->ceiling);
}

void seep_strbuf_clear(struct seep_strbuf *buf)
{
	seep_strbuf_cut(buf, 0);
	buf->overflowed = false;
}

void seep_strbuf_add(struct seep_strbuf *buf, const void *data, size_t bytes)
{
	if (bytes == 0)
		return;
	if (bytes > buf->ceiling - buf->length)
		buf->overflowed = true;
	if (buf->overflowed)
		return;
	if (buf->length + bytes >= buf->capacity)
		buf->text = seep_xgrow(buf->capacity ? buf->text : NULL, &buf->capacity,
				       buf->length + bytes + 1, 1);
	memcpy(buf->text + buf->length, data, bytes);
	buf->length += bytes;
	buf->text[buf->length] = '\0';
}

void seep_strbuf_adds(struct seep_strbuf *buf, const char *text)
{
	seep_strbuf_add(buf, text, strlen(text));
}

void seep_strbuf_addc(struct seep_strbuf *buf, char byte)
{
	seep_strbuf_add(buf, &byte, 1);
}

void seep_strbuf_addf(struct seep_strbuf *buf, const char *fmt, ...)
{
	va_list args;
	char *text;

	va_start(args, fmt);
	text = seep_xvasprintf(fmt, args);
	va_end(args);
	seep_strbuf_adds(buf, text);
	free(text);
}

void seep_strbuf_cut(struct seep_strbuf *buf, size_t length)
{
	if (length >= buf->length)
		return;
	buf->length = length;
	buf->text[length] = '\0';
}

char *seep_strbuf_take(struct seep_strbuf *buf)
{
	char *text = buf->capacity ? buf->text : seep_xstrdup("");

	*buf = seep_strbuf_of(buf->ceiling);
	return text;
}
