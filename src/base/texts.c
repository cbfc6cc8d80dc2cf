/* SPDX-License-Identifier: MIT */
#include "base/texts.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/strbuf.h"
#include "base/xalloc.h"

enum { JOINED_MAX_BYTES = 4096 };

void seep_texts_take(struct seep_texts *texts, char *text)
{
	*SEEP_APPEND(texts->items, texts->count) = text;
}

void seep_texts_add(struct seep_texts *texts, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	seep_texts_take(texts, seep_xvasprintf(fmt, args));
	va_end(args);
}

void seep_texts_take_first(struct seep_texts *texts, char *text)
{
	seep_texts_take(texts, text);
	memmove(texts->items + 1, texts->items, (texts->count - 1) * sizeof(*texts->items));
	texts->items[0] = text;
}

bool seep_texts_have(const struct seep_texts *texts, const char *text)
{
	for (size_t i = 0; i < texts->count; i++)
		if (strcmp(texts->items[i], text) == 0)
			return true;
	return false;
}

uint32_t seep_texts_number(struct seep_texts *texts, const char *text)
{
	const uint64_t hash = seep_hash_text(0, text);
	size_t at = SEEP_IDTABLE_START;
	uint32_t id;

	while ((id = seep_idtable_find(&texts->ids, hash, &at)) != SEEP_IDTABLE_NONE)
		if (strcmp(texts->items[id], text) == 0)
			return id;
	id = (uint32_t)texts->count;
	seep_idtable_add(&texts->ids, hash, id);
	seep_texts_take(texts, seep_xstrdup(text));
	return id;
}

char *seep_texts_join(const struct seep_texts *texts, const char *between, size_t max)
{
	SEEP_STRBUF(text, JOINED_MAX_BYTES);

	for (size_t i = 0; i < texts->count && i < max; i++)
		seep_strbuf_addf(&text, "%s%s", i ? between : "", texts->items[i]);
	if (texts->count > max)
		seep_strbuf_addf(&text, " and %zu more", texts->count - max);
	return seep_strbuf_take(&text);
}

void seep_texts_done(struct seep_texts *texts)
{
	for (size_t i = 0; i < texts->count; i++)
		free(texts->items[i]);
	free(texts->items);
	seep_idtable_done(&texts->ids);
	*texts = (struct seep_texts){ 0 };
}
