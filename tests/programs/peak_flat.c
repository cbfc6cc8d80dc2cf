/* SPDX-License-Identifier: MIT */
/* A heap that stays at its height for long: each block is replaced by one of its size, again and again. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { BLOCKS = 20000, REPLACED = 1000000 };

static void *blocks[BLOCKS];

static size_t size_of(size_t i)
{
	return 100 + i % 400;
}

int main(void)
{
	uint32_t random = 1;
	size_t bytes = 0;

	for (size_t i = 0; i < BLOCKS; i++) {
		blocks[i] = malloc(size_of(i));
		bytes += size_of(i);
	}
	printf("%zu\n", bytes);
	for (size_t k = 0; k < REPLACED; k++) {
		const size_t i = (random = random * 1103515245 + 12345) / 256 % BLOCKS;

		free(blocks[i]);
		blocks[i] = malloc(size_of(i));
	}
	for (size_t i = 0; i < BLOCKS / 2; i++)
		free(blocks[i]);
	return 0;
}
