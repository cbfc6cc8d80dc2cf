/* SPDX-License-Identifier: MIT */
/*
 * What the misuse_* programs share: tables of cases as those of leak.h, of what is done wrong with a
 * block, and of what looks wrong and is not. A want is one of, several are separated by "; ":
 *
 *	KIND FREEING [KEY=VALUE ...]
 *		a finding; KIND may be A|B, FREEING *. A block that should be "none" is "-", and a
 *		"+" stands for a space. Keys: size, offset, distance, expected, actual, count,
 *		thread; here, alloc, freed: the innermost function of that stack; within: one
 *		anywhere in the present one
 *	none		nothing is wrong, or nobody can see that it is
 *
 * Of a case without wants of its own for it, "freed" is told only where the stacks of frees are kept.
 * What the words in the last column mean: test_misuse.py.
 */
#ifndef MISUSE_CASE_H
#define MISUSE_CASE_H

#include "leak.h"

#include <malloc.h>
#include <stddef.h>

/*
 * No tail call before it, and no two functions that have it are folded into one: each is a frame of
 * its own, by its name.
 */
#define HERE(name) __asm__ volatile("# " #name ::: "memory")

/* What a compiler knows about a pointer ends here, or it leaves out what is wrong on purpose. */
static inline void *opaque(const void *pointer)
{
	__asm__ volatile("" : "+r"(pointer)::"memory");
	return (void *)pointer;
}

static APART void release(void *block)
{
	free(opaque(block));
	HERE(release);
}

static APART void release_again(void *block)
{
	free(opaque(block));
	HERE(release_again);
}

static APART void *resize(void *block, size_t bytes)
{
	block = opaque(realloc(opaque(block), bytes));
	HERE(resize);
	return block;
}

static APART void *block_aligned(size_t alignment, size_t bytes)
{
	void *made = opaque(memalign(alignment, bytes));

	HERE(block_aligned);
	return made;
}

static APART void *churn(size_t bytes)
{
	void *made = malloc(bytes);

	HERE(churn);
	return opaque(made);
}

/* Bytes at a block's @at: inside, outside, or after its free. */
static APART void scribble(void *block, ptrdiff_t at, size_t bytes)
{
	volatile char *to = (char *)opaque(block) + at;

	while (bytes--)
		*to++ = 0x77;
	HERE(scribble);
}

#endif
