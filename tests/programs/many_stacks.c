/* SPDX-License-Identifier: MIT */
/*
 * Allocates under N stacks that differ, and keeps every hundredth block. Prints its truth.
 */
#include "truth.h"

TRUTH_MAKER(counted, malloc(bytes));

static void *volatile kept;

#include "stack_tree.h"

int main(int argc, char **argv)
{
	unsigned count = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 1000;

	for (unsigned i = 0; i < count; i++) {
		void *block = left_22(i);

		if (i % 100 == 0) {
			kept = block;
			continue;
		}
		free(block);
		truth_freed(&site_counted, 48);
	}
	truth_print();
	return truth_failures;
}
