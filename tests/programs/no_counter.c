/* SPDX-License-Identifier: MIT */
/* Forbids itself to read the processor's counter, and goes on under new stacks. */
#include <sys/prctl.h>

#include "truth.h"

enum { BLOCK_BYTES = 48 };

TRUTH_MAKER(counted, malloc(bytes));

#include "stack_tree.h"

int main(void)
{
	free(malloc(100));
	EXPECT(prctl(PR_SET_TSC, PR_TSC_SIGSEGV, 0, 0, 0) == 0);
	for (unsigned i = 0; i < 100; i++)
		(void)left_22(i);
	truth_print();
	return 0;
}
