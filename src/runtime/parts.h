/* SPDX-License-Identifier: MIT */
/*
 * Which parts of an operation's bookkeeping are compiled in. All of them, but where bench/ablation
 * builds the library with RT_PARTS=n to see what each costs: there, each adds to those before it,
 * and the figures mean nothing. Left out of the common case only; realloc and large blocks do
 * everything from RT_PART_CELL on.
 */
#ifndef SEEP_RUNTIME_PARTS_H
#define SEEP_RUNTIME_PARTS_H

#include <stdbool.h>

enum rt_part {
	RT_PART_FORWARD, /* the next allocator is called */
	RT_PART_CELL,	 /* the page map is written and read */
	RT_PART_COUNTERS,
	RT_PART_TOTAL,	   /* the live total, and the peak */
	RT_PART_HISTOGRAM, /* and usable bytes */
	RT_PART_WALK,	   /* stacks, for all that they are counted under the first one's row */
	RT_PART_ROWS,
};

#ifndef RT_PARTS
#define RT_PARTS RT_PART_ROWS
#endif

static inline bool rt_does(enum rt_part part)
{
	return part <= RT_PARTS;
}

#endif
