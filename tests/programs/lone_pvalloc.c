/* SPDX-License-Identifier: MIT */
/*
 * pvalloc, which allocators tend to leave to the C library, and whose block is not freed here: no
 * other allocator would know it. "wrap" asks for more than there is.
 */
#include <malloc.h>

#include "truth.h"

TRUTH_SITE(paged);

static void *kept;

static SITE void paged(void)
{
	kept = pvalloc(5000);
	truth_alloced(&site_paged, 5000);
}

int main(int argc, char **argv)
{
	(void)argv;
	if (argc > 1)
		kept = pvalloc(truth_hide(SIZE_MAX - 32));
	else
		paged();
	EXPECT(malloc(64) != NULL);
	truth_print();
	return truth_failures != 0;
}
