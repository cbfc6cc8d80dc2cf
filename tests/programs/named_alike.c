/* SPDX-License-Identifier: MIT */
// build: @lib_named_alike
/* Counts what it allocates from an allocator that is nobody else's. */
#include "truth.h"

TRUTH_MAKER(alike, malloc(bytes));

extern int nallocx;

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
