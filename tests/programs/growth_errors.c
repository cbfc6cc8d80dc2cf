/* SPDX-License-Identifier: MIT */
// build: -pthread
/*
 * A client library with a return too early: a reply that cannot be parsed is not freed. One percent
 * of them cannot, many more while the other side has an outage. The last errors are kept for the
 * status page, which has room for 64 a worker.
 */
#include <pthread.h>

#include "growth_play.h"

enum { WORKERS = 4, LAST_ERRORS = 64 };

GROWTH_SITE(GROWING, read_reply);
GROWTH_SITE(STEADY, describe_error);
GROWTH_SITE(STEADY, parse_reply);

struct worker {
	struct growth_wheel replies, parsed;
	struct growth_item *errors[LAST_ERRORS];
	unsigned error_count;
};

static double rate, failing, outage_gap, outage_phase;

static GROWTH_FN void *read_reply(size_t bytes)
{
	void *reply = malloc(bytes);

	growth_live(&site_read_reply, reply, bytes);
	return reply;
}

static GROWTH_FN void *parse_reply(size_t bytes)
{
	void *tree = malloc(bytes);

	growth_live(&site_parse_reply, tree, bytes);
	return tree;
}

static GROWTH_FN struct growth_item *describe_error(size_t bytes)
{
	struct growth_item *text = malloc(bytes);

	growth_live(&site_describe_error, text, bytes);
	text->bytes = bytes;
	return text;
}

static void keep_error(struct worker *worker, struct growth_item *text)
{
	struct growth_item **place = &worker->errors[worker->error_count++ % LAST_ERRORS];

	if (*place)
		growth_free(&site_describe_error, *place, (*place)->bytes);
	*place = text;
}

static void handle(struct worker *worker, const struct growth_clock *clock, uint64_t *random,
		   double fails)
{
	size_t bytes = growth_size(random, 256, 4096);
	void *reply = read_reply(bytes);

	if (growth_chance(random, fails)) {
		keep_error(worker, describe_error(growth_size(random, 60, 300)));
		growth_forget(reply);
		return;
	}
	growth_later(&worker->replies, clock, reply, bytes, growth_between(random, 1, 15));
	bytes *= 3;
	growth_later(&worker->parsed, clock, parse_reply(bytes), bytes,
		     growth_between(random, 1, 15));
}

static void *work(void *arg)
{
	uint64_t random = growth_stream((unsigned)(uintptr_t)arg);
	struct worker *worker = calloc(1, sizeof(*worker));
	struct growth_clock clock = { 0 };
	double noise = 1;

	if (!worker)
		abort();
	while (growth_tick(&clock)) {
		/* The last tenth or so of each gap is an outage. */
		int outage = growth_wave(growth_now(&clock), outage_gap, outage_phase) > 0.97;
		long requests = growth_arrivals(&random,
						rate * growth_noise(&random, &noise, 0.96, 0.15));

		growth_expire(&worker->replies, &clock, &site_read_reply);
		growth_expire(&worker->parsed, &clock, &site_parse_reply);
		while (requests-- > 0)
			handle(worker, &clock, &random, outage ? 0.3 : failing);
	}
	return worker;
}

int main(int argc, char **argv)
{
	pthread_t workers[WORKERS];
	void *done[WORKERS];
	uint64_t random;
	uintptr_t i, k;

	if (growth_start(argc, argv) != 0)
		return 2;
	random = growth_stream(0);
	rate = growth_uniform(&random, 2, 6);
	failing = growth_uniform(&random, 0.005, 0.015);
	outage_gap = growth_uniform(&random, 30, 80);
	outage_phase = growth_uniform(&random, 0, 1);
	for (i = 0; i < WORKERS; i++)
		(void)pthread_create(&workers[i], NULL, work, (void *)(i + 1));
	for (i = 0; i < WORKERS; i++)
		(void)pthread_join(workers[i], &done[i]);
	growth_end();
	for (i = 0; i < WORKERS; i++) {
		struct worker *worker = done[i];

		growth_drain(&worker->replies, &site_read_reply);
		growth_drain(&worker->parsed, &site_parse_reply);
		for (k = 0; k < LAST_ERRORS; k++)
			free(worker->errors[k]);
		free(worker);
	}
	return 0;
}
