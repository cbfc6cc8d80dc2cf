/* SPDX-License-Identifier: MIT */
/*
 * Results that are computed once for each key and kept: fast at first, then ever slower, until all
 * keys have come. Some keys are asked for four times as often. Also interned names, far fewer.
 */
#include "growth_play.h"

enum { MOST = 20000 };

GROWTH_SITE(STEADY, compute_result);
GROWTH_SITE(STEADY, intern_name);
GROWTH_SITE(STEADY, read_body);

static struct growth_item *results[MOST], *names[MOST];

static GROWTH_FN struct growth_item *compute_result(size_t bytes)
{
	struct growth_item *result = malloc(bytes);

	growth_live(&site_compute_result, result, bytes);
	result->bytes = bytes;
	return result;
}

static GROWTH_FN struct growth_item *intern_name(size_t bytes)
{
	struct growth_item *name = malloc(bytes);

	growth_live(&site_intern_name, name, bytes);
	name->bytes = bytes;
	return name;
}

static GROWTH_FN void *read_body(size_t bytes)
{
	void *body = malloc(bytes);

	growth_live(&site_read_body, body, bytes);
	return body;
}

/* Half of the questions are about the first fifth of the keys. */
static long pick_key(uint64_t *random, long keys)
{
	if (growth_chance(random, 0.5))
		return growth_between(random, 0, keys / 5);
	return growth_between(random, keys / 5, keys - 1);
}

int main(int argc, char **argv)
{
	static struct growth_wheel bodies;
	struct growth_clock clock = { 0 };
	double rate, noise = 1, turn;
	long keys, name_count, i;
	uint64_t random;

	if (growth_start(argc, argv) != 0)
		return 2;
	random = growth_stream(0);
	rate = growth_uniform(&random, 8, 40);
	/* In a turn, as many questions come about the rarer keys as there are such keys. */
	turn = growth_uniform(&random, 0.03, 0.1) * (double)growth_units;
	keys = (long)(rate * GROWTH_TICKS * turn * 0.5 / 0.8);
	if (keys > MOST)
		keys = MOST;
	if (keys < 10)
		keys = 10;
	name_count = keys / 10 + 1;
	while (growth_tick(&clock)) {
		double load = rate * growth_noise(&random, &noise, 0.97, 0.12);
		long count = growth_arrivals(&random, load);

		growth_expire(&bodies, &clock, &site_read_body);
		while (count-- > 0) {
			long key = pick_key(&random, keys);
			long name = growth_between(&random, 0, name_count - 1);
			size_t bytes = growth_size(&random, 128, 4096);

			if (!results[key])
				results[key] = compute_result(growth_size(&random, 64, 2000));
			if (!names[name] && growth_chance(&random, 0.3))
				names[name] = intern_name(growth_size(&random, 24, 100));
			growth_later(&bodies, &clock, read_body(bytes), bytes,
				     growth_between(&random, 1, 10));
		}
	}
	growth_end();
	for (i = 0; i < MOST; i++) {
		free(results[i]);
		free(names[i]);
	}
	growth_drain(&bodies, &site_read_body);
	return 0;
}
