/* SPDX-License-Identifier: MIT */
// build: @lib_named_alike
/* Counts what it allocates from an allocator that is nobody else's. */
#include "truth.h"

TRUTH_SITE(alike);

extern int nallocx;

SITE static void *alike(size_t bytes)
{
	truth_alloced(&site_alike, bytes);
	return malloc(bytes);
}

int main(void)
{
	for (size_t i = 0; i < 500; i++) {
		void *block = alike(i);

		EXPECT(block != NULL);
		if (i % 2) {
			free(block);
			truth_freed(&site_alike, i);
		}
	}
	truth_print();
	return truth_failures != 0 || nallocx != 7;
}
