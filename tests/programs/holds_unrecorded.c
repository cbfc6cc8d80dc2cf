/* SPDX-License-Identifier: MIT */
/* A block of 64 bytes is all that points to one of 1000, and nothing to one of 1001. */
#include <stdlib.h>

#define APART __attribute__((noinline))

static void *volatile *volatile kept;

static APART void hold(void)
{
	kept = calloc(8, sizeof(*kept));
	if (kept)
		kept[0] = malloc(1000);
}

static APART void lose(void)
{
	void *volatile block = malloc(1001);

	block = NULL;
	(void)block;
}

int main(void)
{
	hold();
	lose();
	return 0;
}
