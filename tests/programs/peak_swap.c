/* SPDX-License-Identifier: MIT */
/*
 * One function's blocks are replaced one by one by another's. By the argument:
 *   falling   the new ones are a byte smaller: the peak is before the first exchange
 *   rising    a byte larger: it is after the last one
 *   realloc   a byte larger, by realloc: one operation, never a moment with both or neither
 * Everything is freed at the end, so the figures at the peak are not the live ones.
 */
#include "truth.h"

enum { BLOCKS = 200, BYTES = 4000 };

TRUTH_TAGGING_MAKER(swap_old, malloc(bytes));
TRUTH_SITE(swap_new);

static void *blocks[BLOCKS];

static SITE void *swap_new(void *old, size_t bytes)
{
	void *block = old ? realloc(old, bytes) : malloc(bytes);

	truth_tag_block(block, &site_swap_new, bytes);
	return block;
}

static void *exchange(void *old, int by_realloc, size_t bytes)
{
	truth_untag_block(old);
	if (by_realloc)
		return swap_new(old, bytes);
	free(old);
	return swap_new(NULL, bytes);
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "falling";
	int falling = strcmp(mode, "falling") == 0, by_realloc = strcmp(mode, "realloc") == 0;
	size_t new_bytes = falling ? BYTES - 1 : BYTES + 1;
	int i;

	for (i = 0; i < BLOCKS; i++)
		blocks[i] = swap_old(BYTES);
	for (i = 0; i < BLOCKS; i++)
		blocks[i] = exchange(blocks[i], by_realloc, new_bytes);
	for (i = 0; i < BLOCKS; i++) {
		truth_untag_block(blocks[i]);
		free(blocks[i]);
	}
	truth_set_peak(&site_swap_old, falling ? BLOCKS * BYTES : 0);
	truth_set_peak(&site_swap_new, falling ? 0 : BLOCKS * new_bytes);
	truth_print();
	return truth_failures != 0;
}
