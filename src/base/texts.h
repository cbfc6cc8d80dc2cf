/* SPDX-License-Identifier: MIT */
/* A list of texts that grows. Zeroed storage is empty. */
#ifndef SEEP_BASE_TEXTS_H
#define SEEP_BASE_TEXTS_H

#include "base/error.h"
#include "base/idtable.h"

#include <stdbool.h>
#include <stddef.h>

struct seep_texts {
	char **items;
	size_t count;
	struct seep_idtable ids; /* by seep_texts_number() */
};

/* @text becomes the list's, as its last or its first. */
void seep_texts_take(struct seep_texts *texts, char *text);
void seep_texts_take_first(struct seep_texts *texts, char *text);

void seep_texts_add(struct seep_texts *texts, const char *fmt, ...) SEEP_PRINTF(2, 3);

bool seep_texts_have(const struct seep_texts *texts, const char *text);

/* The place of @text in a list that is filled by this alone: it is copied to the end if new. */
uint32_t seep_texts_number(struct seep_texts *texts, const char *text);

/* "a, b, c and 2 more": the first @max with @between between them. Release with free(). */
char *seep_texts_join(const struct seep_texts *texts, const char *between, size_t max)
	__attribute__((returns_nonnull));

/* Release all; empty again. */
void seep_texts_done(struct seep_texts *texts);

#endif
