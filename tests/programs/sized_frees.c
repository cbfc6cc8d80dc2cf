/* SPDX-License-Identifier: MIT */
/* Frees 200,000 blocks by C23's forms, which the C library may not have. */
#include "truth.h"

/* Weak: without a definition at hand, blocks are freed by free(). */
__attribute__((weak)) void free_sized(void *block, size_t size);
__attribute__((weak)) void free_aligned_sized(void *block, size_t alignment, size_t size);

enum { ROUNDS = 100000 };

TRUTH_SITE(sized);
TRUTH_SITE(aligned_sized);

static SITE void sized(size_t bytes)
{
	void *block = malloc(bytes);

	truth_alloced(&site_sized, bytes);
	memset(block, 1, bytes);
	if (free_sized)
		free_sized(block, bytes);
	else
		free(block);
	truth_freed(&site_sized, bytes);
}

static SITE void aligned_sized(size_t bytes)
{
	void *block = aligned_alloc(64, bytes);

	truth_alloced(&site_aligned_sized, bytes);
	memset(block, 1, bytes);
	if (free_aligned_sized)
		free_aligned_sized(block, 64, bytes);
	else
		free(block);
	truth_freed(&site_aligned_sized, bytes);
}

int main(void)
{
	for (size_t i = 0; i < ROUNDS; i++) {
		sized(i % 500 + 1);
		aligned_sized(i % 500 + 1);
	}
	truth_print();
	return 0;
}
