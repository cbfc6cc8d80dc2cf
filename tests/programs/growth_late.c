/* SPDX-License-Identifier: MIT */
/*
 * A proxy that is in good health for half of the run. Then an upstream begins to close connections:
 * from there on some streams are not closed, and the state of retries is kept for ever in a list.
 */
#include "growth_play.h"

GROWTH_SITE(GROWING, open_stream);
GROWTH_SITE(GROWING, plan_retry);
GROWTH_SITE(STEADY, copy_chunk);

static struct growth_wheel streams, chunks;
static struct growth_item *retries;

static GROWTH_FN void *open_stream(size_t bytes)
{
	void *stream = calloc(1, bytes);

	growth_live(&site_open_stream, stream, bytes);
	return stream;
}

static GROWTH_FN void plan_retry(size_t bytes)
{
	struct growth_item *retry = malloc(bytes);

	growth_live(&site_plan_retry, retry, bytes);
	retry->bytes = bytes;
	retry->next = retries;
	retries = retry;
}

static GROWTH_FN void *copy_chunk(size_t bytes)
{
	void *chunk = malloc(bytes);

	growth_live(&site_copy_chunk, chunk, bytes);
	return chunk;
}

int main(int argc, char **argv)
{
	struct growth_clock clock = { 0 };
	double rate, closing, begins, noise = 1, period, phase;
	uint64_t random;

	if (growth_start(argc, argv) != 0)
		return 2;
	random = growth_stream(0);
	rate = growth_uniform(&random, 2, 8);
	closing = growth_uniform(&random, 0.03, 0.15);
	begins = growth_uniform(&random, 0.5, 0.6) * (double)growth_units;
	period = growth_uniform(&random, 20, 60);
	phase = growth_uniform(&random, 0, 1);
	while (growth_tick(&clock)) {
		double now = growth_now(&clock);
		double load = 1 + 0.3 * growth_wave(now, period, phase);
		long count;

		growth_expire(&streams, &clock, &site_open_stream);
		growth_expire(&chunks, &clock, &site_copy_chunk);
		load *= growth_noise(&random, &noise, 0.97, 0.1);
		count = growth_arrivals(&random, rate * load);
		while (count-- > 0) {
			size_t bytes = growth_size(&random, 300, 1200);
			void *stream = open_stream(bytes);
			long ticks = growth_between(&random, 5, 60);

			if (now >= begins && growth_chance(&random, closing)) {
				growth_forget(stream);
				plan_retry(growth_size(&random, 40, 200));
			} else {
				growth_later(&streams, &clock, stream, bytes, ticks);
			}
			bytes = growth_size(&random, 1024, 32768);
			growth_later(&chunks, &clock, copy_chunk(bytes), bytes,
				     growth_between(&random, 1, ticks));
		}
	}
	growth_end();
	growth_drain(&streams, &site_open_stream);
	growth_drain(&chunks, &site_copy_chunk);
	growth_free_list(&retries, &site_plan_retry);
	return 0;
}
