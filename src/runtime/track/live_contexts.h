/* SPDX-License-Identifier: MIT */
/*
 * What is alive now, summed by context: which blocks there are, and of which row, the page map knows; what
 * the row stands for is the ledger's word. Other threads go on meanwhile: what they allocate and free
 * is in it or not, and so is a block that is just resized.
 */
#ifndef SEEP_RUNTIME_LIVE_CONTEXTS_H
#define SEEP_RUNTIME_LIVE_CONTEXTS_H

#include "runtime/rt.h"

enum { RT_LIVE_FRAMES_MAX = 256 };

struct rt_live {
	uint32_t context; /* of our ledger, index + 1; RT_LIVE_INHERITED: an ancestor's */
	uint32_t depth;	  /* frames of its stack; 0: not known */
	uint64_t size;	  /* of each of the blocks; where sizes are not told apart: 0 */
	uint64_t blocks;
	uint64_t bytes;
};
enum { RT_LIVE_INHERITED = 0 };

struct rt_lives {
	struct rt_live *items; /* NULL: there was no memory */
	uint64_t count;
	uint64_t room;
	uint64_t bytes; /* of all together */
	uint32_t depth; /* of the deepest stack */
	bool by_size;
};

/* Does @a come before @b? */
typedef bool rt_live_order(const struct rt_live *a, const struct rt_live *b);

/* All of them in @order. Any thread, any signal; *@ret_lives is released by rt_lives_give(). */
RT_COLD void rt_lives_take(struct rt_lives *ret_lives, bool by_size, rt_live_order *order);
RT_COLD void rt_lives_give(struct rt_lives *lives);

/* The return addresses into @frames, if it is not NULL, @max at most, innermost first; how many. */
RT_COLD uint32_t rt_live_frames(const struct rt_live *live, uintptr_t *frames, uint32_t max);

/* NULL: an ancestor's. What it says may be another process's word. */
const struct ledger_context *rt_live_context(const struct rt_live *live);

#endif
