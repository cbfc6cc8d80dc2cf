/* SPDX-License-Identifier: MIT */
/*
 * left_22(N) calls counted() under one of 2^22 stacks: 22 pairs of functions, of which each calls
 * one of the next pair by a bit of N, so that nothing can be folded. Whoever includes this defines
 * counted() before.
 */
#ifndef TESTS_PROGRAMS_STACK_TREE_H
#define TESTS_PROGRAMS_STACK_TREE_H

/* Something is left to do after each call, so that it is one. */
#define KEEP(value) __asm__ volatile("" : "+r"(value))

#define SIDE(name, inner)                                                                    \
	SITE static void *name(unsigned path)                                                \
	{                                                                                    \
		void *block = path & 1 ? right_##inner(path >> 1) : left_##inner(path >> 1); \
                                                                                             \
		KEEP(block);                                                                 \
		return block;                                                                \
	}
#define LEVEL(level, inner)       \
	SIDE(left_##level, inner) \
	SIDE(right_##level, inner)

SITE static void *left_1(unsigned path)
{
	void *block = counted(48 + (path & 0));

	KEEP(block);
	return block;
}

SITE static void *right_1(unsigned path)
{
	void *block = counted(48 + (path & 0));

	KEEP(block);
	return block;
}

LEVEL(2, 1)
LEVEL(3, 2)
LEVEL(4, 3)
LEVEL(5, 4)
LEVEL(6, 5)
LEVEL(7, 6)
LEVEL(8, 7)
LEVEL(9, 8)
LEVEL(10, 9)
LEVEL(11, 10)
LEVEL(12, 11)
LEVEL(13, 12)
LEVEL(14, 13)
LEVEL(15, 14)
LEVEL(16, 15)
LEVEL(17, 16)
LEVEL(18, 17)
LEVEL(19, 18)
LEVEL(20, 19)
LEVEL(21, 20)
LEVEL(22, 21)

#endif
