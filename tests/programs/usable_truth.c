/* SPDX-License-Identifier: MIT */
// build: @lib_early_blocks
/*
 * usable_truth COUNT: allocates COUNT blocks by each function in turn, of 0 to 5,000 bytes, in two
 * places, resizes and frees some, and prints what malloc_usable_size() says of those alive at exit.
 */
#include <malloc.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

void free_early_blocks(void);

enum { MOST = 100000 };

static void *blocks[MOST];

static __attribute__((noinline)) void *take(unsigned i)
{
	size_t bytes = i % 2 ? i * 37u % 5000 : i % 300;

	switch (i % 7) {
	case 0:
	case 1:
		return malloc(bytes);
	case 2:
		return calloc(1, bytes);
	case 3:
		return memalign(64, bytes);
	case 4:
		return realloc(malloc(bytes), bytes / 2 + 1);
	case 5:
		return realloc(malloc(bytes / 2), bytes + 1);
	default:
		return realloc(NULL, bytes);
	}
}

int main(int argc, char **argv)
{
	unsigned count = argc > 1 ? (unsigned)atoi(argv[1]) : 0;
	uint64_t usable = 0;
	char line[32];
	int bytes;

	if (count > MOST)
		return 2;
	free_early_blocks();
	for (unsigned i = 0; i < count; i++) {
		blocks[i] = take(i);
		if (i % 3 == 2) {
			free(blocks[i / 2]);
			blocks[i / 2] = NULL;
		}
	}
	for (unsigned i = 0; i < count; i++)
		usable += blocks[i] ? malloc_usable_size(blocks[i]) : 0;
	bytes = snprintf(line, sizeof(line), "%llu\n", (unsigned long long)usable);
	return write(1, line, (size_t)bytes) == bytes ? 0 : 1;
}
