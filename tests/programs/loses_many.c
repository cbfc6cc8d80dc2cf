/* SPDX-License-Identifier: MIT */
/* Loses N blocks of 24 bytes, and ends. */
#include <stdlib.h>

static void *volatile lost;

int main(int argc, char **argv)
{
	for (long i = argc > 1 ? strtol(argv[1], NULL, 10) : 0; i > 0; i--)
		lost = malloc(24);
	return 0;
}
