/* SPDX-License-Identifier: MIT */
/*
 * Unwind information for made-up code is given to libgcc, as JIT compilers do. libgcc sorts it at
 * the first unwinding, and allocates for that with its lock held.
 */
#include "truth.h"

enum { ROUNDS = 1000, BYTES = 80 };

TRUTH_SITE(leaf);

void __register_frame(void *begin);

/* A CIE; an FDE for 16 bytes at an address where nothing is; the end. */
static _Alignas(8) unsigned char frames[72] = {
	20, 0, 0, 0, 0,	 0, 0, 0, 1, 'z',  'R', 0, 1, 0x78, 16, 1, 0,  0x0c, 7, 8, 0x90, 1, 0, 0,
	28, 0, 0, 0, 28, 0, 0, 0, 0, 0x10, 0,	0, 0, 0,    0,	0, 16, 0,    0, 0, 0,	 0, 0, 0,
};

static SITE void leaf(void)
{
	TRUTH_TEMPORARY(leaf, BYTES);
}

int main(void)
{
	__register_frame(frames);
	for (int i = 0; i < ROUNDS; i++)
		leaf();
	puts("done");
	truth_print();
	return truth_failures != 0;
}
