/* SPDX-License-Identifier: MIT */
// build: -no-pie -Wl,-z,separate-code -Wl,-z,max-page-size=0x200000
/*
 * A program whose segments lie two megabytes apart, as linkers laid them out for long: the kernel
 * maps nothing between them, and the loader knows the extent of one at a time.
 */
#include "truth.h"

enum { ROUNDS = 1000, BYTES = 72 };

TRUTH_SITE(leaf);

static SITE void leaf(void)
{
	TRUTH_TEMPORARY(leaf, BYTES);
}

static SITE void middle(int i)
{
	volatile char room[200];

	room[i % 200] = 1;
	leaf();
	__asm__ volatile("");
	(void)room[0];
}

int main(void)
{
	for (int i = 0; i < ROUNDS; i++)
		middle(i);
	puts("done");
	truth_print();
	return truth_failures != 0;
}
