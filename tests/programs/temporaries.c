/* SPDX-License-Identifier: MIT */
/*
 * A temporary block is freed by its thread before that thread allocates again. One million of
 * them, and neighbours that are not: an allocation in between, a free by another thread.
 */
#include <pthread.h>

#include "truth.h"

enum { TEMPORARIES = 1000000, PAIRS = 1000 };

TRUTH_MAKER(temp_single, malloc(bytes));
TRUTH_MAKER(temp_pair_first, malloc(bytes));
TRUTH_MAKER(temp_pair_second, malloc(bytes));
TRUTH_MAKER(temp_other_thread, malloc(bytes));
TRUTH_SITE(temp_resized);

static SITE void *temp_resized(void *old, size_t bytes)
{
	void *block = realloc(old, bytes);

	truth_alloced(&site_temp_resized, bytes);
	return block;
}

/* The first has an allocation between its birth and its end, the second has none. */
static void pair(size_t bytes)
{
	void *first = temp_pair_first(bytes), *second = temp_pair_second(bytes);

	free(first);
	truth_freed(&site_temp_pair_first, bytes);
	free(second);
	truth_freed(&site_temp_pair_second, bytes);
}

static void *free_it(void *block)
{
	free(block);
	truth_freed(&site_temp_other_thread, 100);
	return NULL;
}

/* The thread that frees has never allocated; pthread_create has, on behalf of the one that did. */
static void free_in_other_thread(void)
{
	pthread_t thread;

	EXPECT(pthread_create(&thread, NULL, free_it, temp_other_thread(100)) == 0);
	EXPECT(pthread_join(thread, NULL) == 0);
}

/* Resizing is an allocation, so of a chain only the last one can be temporary. */
static void resized(void)
{
	void *block = temp_resized(NULL, 100);

	block = temp_resized(block, 5000);
	truth_freed(&site_temp_resized, 100);
	free(block);
	truth_freed(&site_temp_resized, 5000);
}

int main(void)
{
	int i;

	for (i = 0; i < TEMPORARIES; i++) {
		size_t bytes = (size_t)(i % 3000);

		free(truth_hide_ptr(temp_single(bytes)));
		truth_freed(&site_temp_single, bytes);
	}
	for (i = 0; i < PAIRS; i++)
		pair((size_t)i + 1);
	for (i = 0; i < 20; i++)
		free_in_other_thread();
	for (i = 0; i < PAIRS; i++)
		resized();
	truth_set_temporary(&site_temp_single, TEMPORARIES);
	truth_set_temporary(&site_temp_pair_first, 0);
	truth_set_temporary(&site_temp_pair_second, PAIRS);
	truth_set_temporary(&site_temp_other_thread, 0);
	truth_set_temporary(&site_temp_resized, PAIRS);
	truth_print();
	return truth_failures != 0;
}
