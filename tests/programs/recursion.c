/* SPDX-License-Identifier: MIT */
/*
 * Recursion of period 1, 2 and 3, 10,000 frames deep, with an allocation at every level, on the
 * way down and on the way up. Then again, so that the same stacks come a second time, and once
 * from a thread. The recursive functions allocate themselves: the counted name is the deep one.
 */
#include <pthread.h>

#include "truth.h"

enum { DEPTH = 4000 };

TRUTH_SITE(direct);
TRUTH_SITE(mutual_even);
TRUTH_SITE(three_a);
TRUTH_SITE(alternating);
TRUTH_MAKER(deep_leaf, malloc(bytes));

static SITE size_t mutual_odd(int depth);
static SITE size_t three_b(int depth);
static SITE size_t three_c(int depth);

/*
 * One allocation before going deeper, kept over the call and freed after it, and one after it.
 * A cycle is counted under the function it is entered by, which every stack of it contains.
 */
#define BODY(entry, next)                                     \
	do {                                                  \
		void *down = truth_hide_ptr(malloc(40)), *up; \
		size_t below;                                 \
                                                              \
		truth_alloced(&site_##entry, 40);             \
		below = depth > 1 ? next(depth - 1) : 0;      \
		free(down);                                   \
		truth_freed(&site_##entry, 40);               \
		up = truth_hide_ptr(malloc(24));              \
		truth_alloced(&site_##entry, 24);             \
		if (depth % 2) {                              \
			free(up);                             \
			truth_freed(&site_##entry, 24);       \
		}                                             \
		return below + 1;                             \
	} while (0)

static SITE size_t direct(int depth)
{
	BODY(direct, direct);
}

static SITE size_t mutual_even(int depth)
{
	BODY(mutual_even, mutual_odd);
}

static SITE size_t mutual_odd(int depth)
{
	BODY(mutual_even, mutual_even);
}

static SITE size_t three_a(int depth)
{
	BODY(three_a, three_b);
}

static SITE size_t three_b(int depth)
{
	BODY(three_a, three_c);
}

static SITE size_t three_c(int depth)
{
	BODY(three_a, three_a);
}

/* No period that could be folded for ever: the path depends on a generator. */
static SITE size_t alternating(int depth, uint64_t *state)
{
	void *block = truth_hide_ptr(malloc(33));
	size_t below = 0;

	truth_alloced(&site_alternating, 33);
	if (depth > 1) {
		if (truth_random(state) & 1)
			below = alternating(depth - 1, state) + 1;
		else
			below = alternating(depth - 1, state) + 2;
	}
	free(block);
	truth_freed(&site_alternating, 33);
	return below;
}

/* All frames stand, only the leaf allocates, many times: the walk must not cost 10,000 frames. */
static SITE size_t stand_deep(int depth)
{
	size_t below;
	int i;

	if (depth > 1) {
		below = stand_deep(depth - 1);
		return below + 1;
	}
	for (i = 0; i < 100000; i++) {
		free(truth_hide_ptr(deep_leaf(48)));
		truth_freed(&site_deep_leaf, 48);
	}
	return 1;
}

static void *all_recursions(void *arg)
{
	uint64_t state = 7;

	(void)arg;
	EXPECT(direct(DEPTH) == DEPTH);
	EXPECT(mutual_even(DEPTH) == DEPTH);
	EXPECT(three_a(DEPTH) == DEPTH);
	EXPECT(stand_deep(DEPTH) == DEPTH);
	EXPECT(alternating(60, &state) >= 59);
	return NULL;
}

int main(void)
{
	pthread_t thread;

	(void)all_recursions(NULL);
	(void)all_recursions(NULL);
	EXPECT(pthread_create(&thread, NULL, all_recursions, NULL) == 0);
	EXPECT(pthread_join(thread, NULL) == 0);
	truth_print();
	return truth_failures != 0;
}
