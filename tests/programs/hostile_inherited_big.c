/* SPDX-License-Identifier: MIT */
/*
 * A child grows a large block that its parent allocated, so that the kernel moves it: what the
 * child frees by that is its parent's, and must not be subtracted from the child's own.
 */
#include <sys/wait.h>

#include "truth.h"

#define INHERITED_BYTES ((size_t)100 << 20)
#define OWN_BYTES ((size_t)50 << 20)
#define GROWN_BYTES ((size_t)200 << 20)

enum { SMALL = 2000, SMALL_BYTES = 24 };

TRUTH_SITE(in_child);

static char *inherited;

static SITE void in_child(void)
{
	char *own = malloc(OWN_BYTES);

	truth_alloced(&site_in_child, OWN_BYTES);
	inherited = realloc(inherited, GROWN_BYTES);
	truth_alloced(&site_in_child, GROWN_BYTES);
	inherited[0] = own[0] = 1;
	/* Enough allocations for a recording of its own. */
	for (int i = 0; i < SMALL; i++) {
		TRUTH_TEMPORARY(in_child, SMALL_BYTES);
	}
}

int main(void)
{
	int status = 0;

	inherited = malloc(INHERITED_BYTES);
	if (fork() == 0) {
		in_child();
		truth_print_child();
		_exit(0);
	}
	EXPECT(wait(&status) > 0 && status == 0);
	truth_print();
	return truth_failures != 0;
}
