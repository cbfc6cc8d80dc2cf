/* SPDX-License-Identifier: MIT */
/*
 * 5,000 threads that live for a handful of allocations, twenty at a time, joined and detached
 * ones; each frees what earlier threads left behind, so most blocks outlive their thread.
 * The first argument changes the number of threads.
 */
#include <pthread.h>
#include <semaphore.h>

#include "truth.h"

enum { AT_ONCE = 20, SLOTS = 64, EACH = 10 };

TRUTH_TAGGING_MAKER(storm_handed_on, malloc(bytes));
TRUTH_MAKER(storm_own, malloc(bytes));
TRUTH_SITE(storm_guilty);

static void *slots[SLOTS];
static void *leaks[8192];
static sem_t detached_done;

/* One thread in 63 leaves 1 + 3 bytes behind. */
static SITE void storm_guilty(unsigned number)
{
	leaks[number % 4096 * 2] = truth_hide_ptr(malloc(1));
	truth_alloced(&site_storm_guilty, 1);
	leaks[number % 4096 * 2 + 1] = truth_hide_ptr(calloc(3, 1));
	truth_alloced(&site_storm_guilty, 3);
}

static void *short_life(void *arg)
{
	unsigned number = (unsigned)(uintptr_t)arg;
	uint64_t state = number + 1;
	void *own[EACH];
	int i;

	for (i = 0; i < EACH; i++) {
		uint32_t dice = truth_random(&state);
		void *block = storm_handed_on(sizeof(struct truth_tag) + dice % 300);
		void *old = __atomic_exchange_n(&slots[dice >> 9 & (SLOTS - 1)], block,
						__ATOMIC_ACQ_REL);

		own[i] = storm_own(17);
		if (old) {
			truth_untag_block(old);
			free(old);
		}
	}
	if (number % 63 == 0)
		storm_guilty(number);
	for (i = 0; i < EACH; i++) {
		free(own[i]);
		truth_freed(&site_storm_own, 17);
	}
	if (number % AT_ONCE == 0)
		EXPECT(sem_post(&detached_done) == 0);
	return NULL;
}

/* The first of each wave is detached: it may still be ending when the process does. */
static void wave(unsigned first, unsigned count)
{
	pthread_t threads[AT_ONCE];
	unsigned i;

	for (i = 0; i < count; i++)
		EXPECT(pthread_create(&threads[i], NULL, short_life,
				      (void *)(uintptr_t)(first + i)) == 0);
	EXPECT(pthread_detach(threads[0]) == 0);
	for (i = 1; i < count; i++)
		EXPECT(pthread_join(threads[i], NULL) == 0);
	while (sem_wait(&detached_done) != 0)
		continue;
}

int main(int argc, char **argv)
{
	unsigned total = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 5000, first;

	EXPECT(sem_init(&detached_done, 0, 0) == 0);
	for (first = 0; first < total; first += AT_ONCE)
		wave(first, total - first < AT_ONCE ? total - first : AT_ONCE);
	truth_print();
	return truth_failures != 0;
}
