/* SPDX-License-Identifier: MIT */
#include "core/nearest.h"

#include "core/bits.h"

#include <string.h>

static size_t edit_distance(const char *a, const char *b)
{
	/* Three rows are enough: a swap looks two rows back. */
	size_t rows[3][CORE_NEAREST_WORD_BYTES + 1];
	size_t a_length = strlen(a);
	size_t b_length = strlen(b);

	if (a_length > CORE_NEAREST_WORD_BYTES || b_length > CORE_NEAREST_WORD_BYTES)
		return (size_t)-1;
	for (size_t j = 0; j <= b_length; j++)
		rows[0][j] = j;
	for (size_t i = 1; i <= a_length; i++) {
		size_t *row = rows[i % 3];
		const size_t *above = rows[(i + 2) % 3];
		const size_t *two_above = rows[(i + 1) % 3];

		row[0] = i;
		for (size_t j = 1; j <= b_length; j++) {
			size_t cost = a[i - 1] != b[j - 1];

			row[j] = core_smaller(core_smaller(above[j], row[j - 1]) + 1,
					      above[j - 1] + cost);
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				row[j] = core_smaller(row[j], two_above[j - 2] + 1);
		}
	}
	return rows[a_length % 3][b_length];
}

void core_nearest_init(struct core_nearest *nearest, const char *typed)
{
	*nearest = (struct core_nearest){ .typed = typed, .distance = (size_t)-1 };
}

void core_nearest_offer(struct core_nearest *nearest, const char *word)
{
	size_t distance = edit_distance(nearest->typed, word);

	if (distance < nearest->distance) {
		nearest->distance = distance;
		nearest->best = word;
	}
}

const char *core_nearest_word(const struct core_nearest *nearest)
{
	if (!nearest->best || nearest->distance > (strlen(nearest->best) + 2) / 3)
		return NULL;
	return nearest->best;
}
