/* SPDX-License-Identifier: MIT */
// build: -pthread
/*
 * Workers that forget one in some hundred of their request contexts, because a client hung up at
 * the wrong moment. All contexts come from the same line; those at work go up and down with load.
 */
#include <pthread.h>

#include "growth_play.h"

enum { WORKERS = 3 };

GROWTH_SITE(GROWING, make_context);
GROWTH_SITE(STEADY, write_reply);

static double rate, one_in, period, phase;

static GROWTH_FN void *make_context(size_t bytes)
{
	void *context = malloc(bytes);

	growth_live(&site_make_context, context, bytes);
	return context;
}

static GROWTH_FN void *write_reply(size_t bytes)
{
	void *reply = malloc(bytes);

	growth_live(&site_write_reply, reply, bytes);
	return reply;
}

struct wheels {
	struct growth_wheel contexts, replies;
};

static void *work(void *arg)
{
	uint64_t random = growth_stream((unsigned)(uintptr_t)arg);
	struct wheels *wheels = calloc(1, sizeof(*wheels));
	struct growth_clock clock = { 0 };
	double noise = 1;

	if (!wheels)
		abort();
	while (growth_tick(&clock)) {
		double load = 1 + 0.35 * growth_wave(growth_now(&clock), period, phase);
		long requests;

		growth_expire(&wheels->contexts, &clock, &site_make_context);
		growth_expire(&wheels->replies, &clock, &site_write_reply);
		load *= growth_noise(&random, &noise, 0.97, 0.1);
		requests = growth_arrivals(&random, rate * load);
		while (requests-- > 0) {
			size_t bytes = growth_size(&random, 96, 2048);
			void *context = make_context(bytes);
			long ticks = growth_between(&random, 1, 20);

			if (growth_chance(&random, 1 / one_in))
				growth_forget(context);
			else
				growth_later(&wheels->contexts, &clock, context, bytes, ticks);
			bytes = growth_size(&random, 512, 16384);
			growth_later(&wheels->replies, &clock, write_reply(bytes), bytes, ticks);
		}
	}
	return wheels;
}

int main(int argc, char **argv)
{
	pthread_t workers[WORKERS];
	void *done[WORKERS];
	uint64_t random;
	uintptr_t i;

	if (growth_start(argc, argv) != 0)
		return 2;
	random = growth_stream(0);
	rate = growth_uniform(&random, 2, 6);
	one_in = growth_uniform(&random, 80, 250);
	period = growth_uniform(&random, 20, 80);
	phase = growth_uniform(&random, 0, 1);
	for (i = 0; i < WORKERS; i++)
		(void)pthread_create(&workers[i], NULL, work, (void *)(i + 1));
	for (i = 0; i < WORKERS; i++)
		(void)pthread_join(workers[i], &done[i]);
	growth_end();
	for (i = 0; i < WORKERS; i++) {
		struct wheels *wheels = done[i];

		growth_drain(&wheels->contexts, &site_make_context);
		growth_drain(&wheels->replies, &site_write_reply);
		free(wheels);
	}
	return 0;
}
