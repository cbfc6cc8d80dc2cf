/* SPDX-License-Identifier: MIT */
/* Allocates before a preloaded allocator's own constructor has run; the blocks are freed later. */
#include <stdlib.h>

enum { BLOCKS = 50 };

static void *blocks[BLOCKS];

static __attribute__((constructor)) void early(void)
{
	for (int i = 0; i < BLOCKS; i++)
		blocks[i] = malloc(3000);
}

void free_early_blocks(void)
{
	for (int i = 0; i < BLOCKS; i++)
		free(blocks[i]);
}
