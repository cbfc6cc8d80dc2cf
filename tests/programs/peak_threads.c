/* SPDX-License-Identifier: MIT */
/*
 * The peak of eight threads. "steps": they rise together to a moment that a barrier fixes, so the
 * figures there are known by function; later rises stay below. "churn": they allocate and free at
 * random under one lock, which orders the operations and makes the true peak total known.
 */
#include <pthread.h>

#include "truth.h"

enum { THREADS = 8, BLOCKS = 1000, BYTES = 1000, CHURN_SLOTS = 512, CHURN_STEPS = 20000 };

TRUTH_TAGGING_MAKER(threads_even, malloc(bytes));
TRUTH_TAGGING_MAKER(threads_odd, malloc(bytes));
TRUTH_TAGGING_MAKER(threads_before, malloc(bytes));
TRUTH_TAGGING_MAKER(threads_churn, malloc(bytes));

static pthread_barrier_t barrier;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned long long churn_live, churn_peak;

static void release_all(void **blocks, int count)
{
	int i;

	for (i = 0; i < count; i++) {
		truth_untag_block(blocks[i]);
		free(blocks[i]);
	}
}

static void *steps(void *arg)
{
	static void *all[THREADS][BLOCKS];
	uintptr_t number = (uintptr_t)arg;
	void **blocks = all[number];
	int i;

	for (i = 0; i < BLOCKS / 2; i++)
		blocks[i] = threads_before(BYTES);
	release_all(blocks, BLOCKS / 2);
	(void)pthread_barrier_wait(&barrier);
	for (i = 0; i < BLOCKS; i++)
		blocks[i] = number % 2 ? threads_odd(BYTES + number) : threads_even(BYTES + number);
	(void)pthread_barrier_wait(&barrier);
	release_all(blocks, BLOCKS);
	(void)pthread_barrier_wait(&barrier);
	for (i = 0; i < BLOCKS / 2; i++)
		blocks[i] = threads_before(BYTES);
	release_all(blocks, BLOCKS / 2);
	return NULL;
}

/* A random walk around a level that rises for the first half and falls for the second. */
static void *churn(void *arg)
{
	static void *all[THREADS][CHURN_SLOTS];
	uintptr_t number = (uintptr_t)arg;
	void **slots = all[number];
	uint64_t state = number + 99;
	int i;

	for (i = 0; i < CHURN_STEPS; i++) {
		uint32_t dice = truth_random(&state);
		int level = i < CHURN_STEPS / 2 ? i : CHURN_STEPS - i;
		size_t bytes = sizeof(struct truth_tag) + dice % 400;
		void **slot = &slots[dice >> 10 & (CHURN_SLOTS - 1)];

		EXPECT(pthread_mutex_lock(&lock) == 0);
		if (*slot) {
			churn_live -= ((struct truth_tag *)*slot)->bytes;
			release_all(slot, 1);
			*slot = NULL;
		} else if ((int)(truth_random(&state) % (CHURN_STEPS / 2)) < level) {
			*slot = threads_churn(bytes);
			churn_live += bytes;
			if (churn_live > churn_peak)
				churn_peak = churn_live;
		}
		EXPECT(pthread_mutex_unlock(&lock) == 0);
	}
	for (i = 0; i < CHURN_SLOTS; i++)
		if (slots[i]) {
			EXPECT(pthread_mutex_lock(&lock) == 0);
			churn_live -= ((struct truth_tag *)slots[i])->bytes;
			release_all(&slots[i], 1);
			EXPECT(pthread_mutex_unlock(&lock) == 0);
		}
	return NULL;
}

static void set_step_peaks(void)
{
	unsigned long long even = 0, odd = 0;
	unsigned number;

	for (number = 0; number < THREADS; number++) {
		unsigned long long bytes = (unsigned long long)BLOCKS * (BYTES + number);

		even += number % 2 ? 0 : bytes;
		odd += number % 2 ? bytes : 0;
	}
	truth_set_peak(&site_threads_even, even);
	truth_set_peak(&site_threads_odd, odd);
	truth_set_peak(&site_threads_before, 0);
	truth_line("note peak_total=%llu\n", even + odd);
}

int main(int argc, char **argv)
{
	int churning = argc > 1 && strcmp(argv[1], "churn") == 0;
	pthread_t threads[THREADS];
	uintptr_t i;

	EXPECT(pthread_barrier_init(&barrier, NULL, THREADS) == 0);
	for (i = 0; i < THREADS; i++)
		EXPECT(pthread_create(&threads[i], NULL, churning ? churn : steps, (void *)i) == 0);
	for (i = 0; i < THREADS; i++)
		EXPECT(pthread_join(threads[i], NULL) == 0);
	if (churning)
		truth_line("note peak_total=%llu\n", churn_peak);
	else
		set_step_peaks();
	EXPECT(churn_live == 0);
	truth_print();
	return truth_failures != 0;
}
