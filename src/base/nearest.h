/* SPDX-License-Identifier: MIT */
/*
 * "Did you mean ...?" The nearest of some known words to what a person typed, by Damerau-Levenshtein
 * distance (optimal string alignment: a swap of neighbours costs one).
 *
 *	struct seep_nearest nearest;
 *
 *	seep_nearest_init(&nearest, "reprot");
 *	for (...)
 *		seep_nearest_offer(&nearest, commands[i].name);
 *	hint = seep_nearest_word(&nearest);
 */
#ifndef SEEP_BASE_NEAREST_H
#define SEEP_BASE_NEAREST_H

#include <stddef.h>

struct seep_nearest {
	const char *typed; /* borrowed */
	const char *best;  /* borrowed from the offers; NULL = none yet */
	size_t distance;
};

void seep_nearest_init(struct seep_nearest *nearest, const char *typed);

/* @word must outlive @nearest. Of equally near words the first offered stays. */
void seep_nearest_offer(struct seep_nearest *nearest, const char *word);

/* The best offer if it is near enough to be worth saying (a third of its letters), else NULL. */
const char *seep_nearest_word(const struct seep_nearest *nearest);

/* Words longer than this are never near anything. */
enum { SEEP_NEAREST_WORD_BYTES = 64 };

/* The distance, or (size_t)-1 when a word is longer than SEEP_NEAREST_WORD_BYTES. */
size_t seep_edit_distance(const char *a, const char *b);

#endif
