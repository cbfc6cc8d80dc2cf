/* SPDX-License-Identifier: MIT */
/*
 * Takes a block and frees it, and then grows until it ends: by _exit, or by SIGKILL. The peak is
 * its last state.
 */
#include <signal.h>

#include "truth.h"

enum { BLOCKS = 1000, BLOCK_BYTES = 100, FIRST_BYTES = 5000 };

TRUTH_SITE(grown);

static void *volatile kept;

SITE static void grown(void)
{
	kept = malloc(BLOCK_BYTES);
	truth_alloced(&site_grown, BLOCK_BYTES);
}

int main(int argc, char **argv)
{
	kept = malloc(FIRST_BYTES);
	free(kept);
	for (int i = 0; i < BLOCKS; i++)
		grown();
	truth_print();
	if (argc > 1 && strcmp(argv[1], "kill") == 0)
		(void)raise(SIGKILL);
	_exit(truth_failures != 0);
}
