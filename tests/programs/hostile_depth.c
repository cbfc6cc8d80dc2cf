/* SPDX-License-Identifier: MIT */
/*
 * Sixteen functions that call each other in a ring, as deep as argv[1] says, and allocate in the
 * middle and over the last levels: stacks that outgrow what a walk first has room for.
 */
#include "truth.h"

enum { LAST = 6, BYTES = 24, FUNCTIONS = 16 };

TRUTH_SITE(allocate);

static long depth_max;

static SITE void allocate(void)
{
	TRUTH_TEMPORARY(allocate, BYTES);
}

static void down(long depth);

#define RING(n)                                                          \
	static SITE void ring_##n(long depth)                            \
	{                                                                \
		if (depth >= depth_max - LAST || depth == depth_max / 2) \
			allocate();                                      \
		if (depth < depth_max)                                   \
			down(depth + 1);                                 \
		__asm__ volatile("" : : : "memory");                     \
	}
RING(0);
RING(1);
RING(2);
RING(3);
RING(4);
RING(5);
RING(6);
RING(7);
RING(8);
RING(9);
RING(10);
RING(11);
RING(12);
RING(13);
RING(14);
RING(15);
#undef RING

static void (*const ring[FUNCTIONS])(long) = {
	ring_0, ring_1, ring_2,	 ring_3,  ring_4,  ring_5,  ring_6,  ring_7,
	ring_8, ring_9, ring_10, ring_11, ring_12, ring_13, ring_14, ring_15,
};

static inline __attribute__((always_inline)) void down(long depth)
{
	ring[depth % FUNCTIONS](depth);
}

int main(int argc, char **argv)
{
	depth_max = argc > 1 ? atol(argv[1]) : 1000;
	down(0);
	truth_print();
	return 0;
}
