/* SPDX-License-Identifier: MIT */
/*
 * "Did you mean ...?" The nearest of some known words to what a person typed, by
 * Damerau-Levenshtein distance (optimal string alignment: a swap of neighbours costs one).
 *
 *	struct core_nearest nearest;
 *
 *	core_nearest_init(&nearest, "reprot");
 *	for (...)
 *		core_nearest_offer(&nearest, commands[i].name);
 *	hint = core_nearest_word(&nearest);
 */
#ifndef SEEP_CORE_NEAREST_H
#define SEEP_CORE_NEAREST_H

#include <stddef.h>

struct core_nearest {
	const char *typed; /* borrowed */
	const char *best;  /* borrowed from the offers; NULL = none yet */
	size_t distance;
};

void core_nearest_init(struct core_nearest *nearest, const char *typed);

/* @word must outlive @nearest. Of equally near words the first offered stays. */
void core_nearest_offer(struct core_nearest *nearest, const char *word);

/* The best offer if it is near enough to be worth saying (a third of its letters), else NULL. */
const char *core_nearest_word(const struct core_nearest *nearest);

/* Words longer than this are never near anything. */
enum { CORE_NEAREST_WORD_BYTES = 64 };

#endif
