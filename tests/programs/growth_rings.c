/* SPDX-License-Identifier: MIT */
// build: -pthread
/*
 * Ring buffers of messages: a flight recorder in each of three threads, which fills within the first
 * third at latest, and a ring of the last replies in the main thread, soon full. A message that is
 * overwritten is freed; the next is rarely as long.
 */
#include <pthread.h>

#include "growth_play.h"

enum { THREADS = 3, RECORDS = 8192, REPLIES = 500 };

GROWTH_MAKER(STEADY, record_trace);
GROWTH_MAKER(STEADY, keep_reply);

static double full_after;

static void overwrite(struct growth_item **slot, struct growth_item *by, struct growth_site *site)
{
	if (*slot)
		growth_free(site, *slot, (*slot)->bytes);
	*slot = by;
}

static void *work(void *arg)
{
	uint64_t random = growth_stream((unsigned)(uintptr_t)arg);
	struct growth_item **ring = calloc(RECORDS, sizeof(struct growth_item *));
	struct growth_clock clock = { 0 };
	double noise = 1, period = growth_uniform(&random, 20, 70);
	double rate = growth_uniform(&random, 2, 10);
	long room = (long)(rate * GROWTH_TICKS * full_after * growth_uniform(&random, 0.7, 1));
	long written = 0;

	if (!ring)
		abort();
	if (room > RECORDS)
		room = RECORDS;
	while (growth_tick(&clock)) {
		double load = 1 + 0.4 * growth_wave(growth_now(&clock), period, 0.3);
		long count;

		load *= growth_noise(&random, &noise, 0.95, 0.15);
		count = growth_arrivals(&random, rate * load);
		while (count-- > 0)
			overwrite(&ring[written++ % room],
				  record_trace(growth_size(&random, 48, 1024)), &site_record_trace);
	}
	return ring;
}

int main(int argc, char **argv)
{
	static struct growth_item *replies[REPLIES];
	struct growth_clock clock = { 0 };
	pthread_t threads[THREADS];
	void *ring[THREADS];
	long written = 0;
	uint64_t random;
	uintptr_t i, k;

	if (growth_start(argc, argv) != 0)
		return 2;
	random = growth_stream(0);
	full_after = growth_uniform(&random, 0.1, 0.33) * (double)growth_units;
	for (i = 0; i < THREADS; i++)
		(void)pthread_create(&threads[i], NULL, work, (void *)(i + 1));
	while (growth_tick(&clock)) {
		long count = growth_arrivals(&random, 3);

		while (count-- > 0)
			overwrite(&replies[written++ % REPLIES],
				  keep_reply(growth_size(&random, 128, 16384)), &site_keep_reply);
	}
	for (i = 0; i < THREADS; i++)
		(void)pthread_join(threads[i], &ring[i]);
	growth_end();
	for (k = 0; k < REPLIES; k++)
		overwrite(&replies[k], NULL, &site_keep_reply);
	for (i = 0; i < THREADS; i++) {
		for (k = 0; k < RECORDS; k++)
			overwrite(&((struct growth_item **)ring[i])[k], NULL, &site_record_trace);
		free(ring[i]);
	}
	return 0;
}
