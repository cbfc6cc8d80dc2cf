/* SPDX-License-Identifier: MIT */
// build: -pthread
/*
 * Threads that come and go, each with two buffers of its own. One belongs to a key with a
 * destructor and goes with its thread. The other hangs on a thread-local pointer; a thread that
 * ends as it should frees it, but one whose job is cut short does not.
 */
#include <pthread.h>

#include "growth_play.h"

enum { THREADS = 96 };

GROWTH_SITE(GROWING, thread_scratch);
GROWTH_SITE(STEADY, thread_errors);
GROWTH_SITE(STEADY, run_job);

struct thread {
	pthread_t id;
	unsigned stream;
	long from, until; /* ticks */
	int cut_short;
	int state; /* 0 none, 1 running, 2 ended; released by the thread */
};

static struct thread threads[THREADS];
static pthread_key_t errors_key;
static __thread struct growth_item *scratch;

static GROWTH_FN void thread_scratch(size_t bytes)
{
	if (scratch)
		return;
	scratch = malloc(bytes);
	growth_live(&site_thread_scratch, scratch, bytes);
	scratch->bytes = bytes;
}

static GROWTH_FN void thread_errors(size_t bytes)
{
	struct growth_item *errors;

	if (pthread_getspecific(errors_key))
		return;
	errors = malloc(bytes);
	growth_live(&site_thread_errors, errors, bytes);
	errors->bytes = bytes;
	(void)pthread_setspecific(errors_key, errors);
}

static GROWTH_FN void *run_job(size_t bytes)
{
	void *job = calloc(1, bytes);

	growth_live(&site_run_job, job, bytes);
	return job;
}

static void free_errors(void *block)
{
	struct growth_item *errors = block;

	growth_free(&site_thread_errors, errors, errors->bytes);
}

static void *work(void *arg)
{
	struct thread *self = arg;
	struct growth_clock clock = { self->from };
	struct growth_wheel jobs = { { NULL } };
	uint64_t random = growth_stream(self->stream);

	while (clock.tick < self->until && growth_tick(&clock)) {
		long count = growth_between(&random, 0, 3);

		growth_expire(&jobs, &clock, &site_run_job);
		if (growth_chance(&random, 0.3))
			thread_errors(growth_size(&random, 256, 1024));
		while (count-- > 0) {
			size_t bytes = growth_size(&random, 128, 8192);

			thread_scratch((size_t)growth_between(&random, 1, 4) * 4096);
			growth_later(&jobs, &clock, run_job(bytes), bytes,
				     growth_between(&random, 1, 10));
		}
	}
	growth_drain(&jobs, &site_run_job);
	if (scratch && !self->cut_short)
		growth_free(&site_thread_scratch, scratch, scratch->bytes);
	growth_forget(scratch);
	__atomic_store_n(&self->state, 2, __ATOMIC_RELEASE);
	return NULL;
}

static void start_thread(uint64_t *random, const struct growth_clock *clock, double cut_short)
{
	static unsigned streams;
	int i;

	for (i = 0; i < THREADS && __atomic_load_n(&threads[i].state, __ATOMIC_ACQUIRE) != 0; i++)
		;
	if (i == THREADS)
		return;
	threads[i].stream = ++streams;
	threads[i].from = clock->tick;
	threads[i].until = clock->tick + (growth_chance(random, 0.1)
						  ? growth_between(random, 60, 300)
						  : growth_between(random, 4, 50));
	threads[i].cut_short = growth_chance(random, cut_short);
	threads[i].state = 1;
	if (pthread_create(&threads[i].id, NULL, work, &threads[i]) != 0)
		abort();
}

int main(int argc, char **argv)
{
	struct growth_clock clock = { 0 };
	double rate, cut_short, noise = 1;
	uint64_t random;
	int i;

	if (growth_start(argc, argv) != 0)
		return 2;
	random = growth_stream(0);
	(void)pthread_key_create(&errors_key, free_errors);
	rate = growth_uniform(&random, 0.06, 0.25);
	cut_short = growth_uniform(&random, 0.25, 0.9);
	while (growth_tick(&clock)) {
		long count = growth_arrivals(&random,
					     rate * growth_noise(&random, &noise, 0.97, 0.12));

		for (i = 0; i < THREADS; i++) {
			if (__atomic_load_n(&threads[i].state, __ATOMIC_ACQUIRE) == 2) {
				(void)pthread_join(threads[i].id, NULL);
				threads[i].state = 0;
			}
		}
		while (count-- > 0)
			start_thread(&random, &clock, cut_short);
	}
	for (i = 0; i < THREADS; i++)
		if (__atomic_load_n(&threads[i].state, __ATOMIC_ACQUIRE) != 0)
			(void)pthread_join(threads[i].id, NULL);
	growth_end();
	return 0;
}
