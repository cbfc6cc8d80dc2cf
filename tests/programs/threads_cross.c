/* SPDX-License-Identifier: MIT */
/*
 * Eight threads that hand most of their blocks to each other through a table of slots: a block
 * put in by one thread is taken out and freed by any other. What is left at the end is live.
 */
#include <pthread.h>

#include "truth.h"

enum { THREADS = 8, OPERATIONS = 60000, SLOTS = 1024 };

TRUTH_TAGGING_MAKER(cross_small, malloc(bytes));
TRUTH_TAGGING_MAKER(cross_zeroed, calloc(1, bytes));
TRUTH_TAGGING_MAKER(cross_large, malloc(bytes));
TRUTH_SITE(cross_grown);

static void *slots[SLOTS];

static SITE void *cross_grown(void *block, size_t bytes)
{
	void *grown;

	truth_untag_block(block);
	grown = realloc(block, bytes);
	truth_tag_block(grown, &site_cross_grown, bytes);
	return grown;
}

static void *make(uint32_t dice)
{
	size_t bytes = sizeof(struct truth_tag) + dice % 500;

	switch (dice >> 16 & 7) {
	case 0:
		return cross_zeroed(bytes);
	case 1:
		return cross_large(bytes * 64);
	case 2:
		return cross_grown(cross_small(bytes), bytes * 2);
	default:
		return cross_small(bytes);
	}
}

static void *worker(void *arg)
{
	uint64_t state = (uintptr_t)arg;
	int i;

	for (i = 0; i < OPERATIONS; i++) {
		uint32_t dice = truth_random(&state);
		void *mine = make(dice), *other;

		/* A block found in a slot may be resized by the finder before it is freed. */
		other = __atomic_exchange_n(&slots[dice >> 8 & (SLOTS - 1)], mine,
					    __ATOMIC_ACQ_REL);
		if (!other)
			continue;
		if ((dice & 15) == 0)
			other = cross_grown(other, 700);
		truth_untag_block(other);
		free(other);
	}
	return NULL;
}

int main(void)
{
	pthread_t threads[THREADS];
	uintptr_t i;

	for (i = 0; i < THREADS; i++)
		EXPECT(pthread_create(&threads[i], NULL, worker, (void *)(i + 1)) == 0);
	for (i = 0; i < THREADS; i++)
		EXPECT(pthread_join(threads[i], NULL) == 0);
	truth_print();
	return truth_failures != 0;
}
