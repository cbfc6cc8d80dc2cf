/* SPDX-License-Identifier: MIT */
// build: -pthread
/*
 * Memory that is taken once and kept for reuse. Chunks of the arenas of three threads, and objects
 * with a free list: both hold as many as were ever in use at once, and no more than the clients that
 * are let in can use. Load warms up in the first quarter and then goes up and down.
 */
#include <pthread.h>

#include "growth_play.h"

enum { THREADS = 3, CLIENTS = 150, CHUNK_BYTES = 16384, OBJECT_BYTES = 640 };

GROWTH_SITE(STEADY, new_chunk);
GROWTH_SITE(STEADY, new_object);

static double warm_at;

static GROWTH_FN void *new_chunk(void)
{
	void *chunk = malloc(CHUNK_BYTES);

	growth_live(&site_new_chunk, chunk, CHUNK_BYTES);
	return chunk;
}

static GROWTH_FN void *new_object(void)
{
	void *object = malloc(OBJECT_BYTES);

	growth_live(&site_new_object, object, OBJECT_BYTES);
	return object;
}

/* Blocks of one size: in use until their tick, then free for the next. */
struct pool {
	struct growth_wheel in_use;
	struct growth_item *unused;
	long in_use_count;
};

static void pool_recycle(struct pool *pool, const struct growth_clock *clock)
{
	struct growth_item **due = &pool->in_use.due[clock->tick % GROWTH_WHEEL];

	while (*due) {
		struct growth_item *item = *due;

		*due = item->next;
		item->next = pool->unused;
		pool->unused = item;
		pool->in_use_count--;
	}
}

static void *pool_take(struct pool *pool)
{
	struct growth_item *item = pool->unused;

	pool->in_use_count++;
	if (item)
		pool->unused = item->next;
	return item;
}

static void pool_done(struct pool *pool, struct growth_site *site)
{
	growth_drain(&pool->in_use, site);
	growth_free_list(&pool->unused, site);
}

struct worker {
	struct pool chunks, objects;
};

static void serve(struct worker *worker, const struct growth_clock *clock, uint64_t *random)
{
	long ticks = growth_between(random, 2, 25), chunks = growth_between(random, 1, 3);
	void *block = pool_take(&worker->objects);

	if (!block)
		block = new_object();
	growth_later(&worker->objects.in_use, clock, block, OBJECT_BYTES, ticks);
	while (chunks-- > 0) {
		block = pool_take(&worker->chunks);
		if (!block)
			block = new_chunk();
		growth_later(&worker->chunks.in_use, clock, block, CHUNK_BYTES, ticks);
	}
}

static void *work(void *arg)
{
	uint64_t random = growth_stream((unsigned)(uintptr_t)arg);
	struct worker *worker = calloc(1, sizeof(*worker));
	struct growth_clock clock = { 0 };
	double noise = 1, rate = growth_uniform(&random, 4, 9);
	double period = growth_uniform(&random, 20, 70), phase = growth_uniform(&random, 0, 1);

	if (!worker)
		abort();
	while (growth_tick(&clock)) {
		double now = growth_now(&clock);
		double load = 1 + 0.3 * growth_wave(now, period, phase);
		long requests;

		if (now < warm_at)
			load *= now / warm_at;
		load *= growth_noise(&random, &noise, 0.95, 0.12);
		pool_recycle(&worker->chunks, &clock);
		pool_recycle(&worker->objects, &clock);
		requests = growth_arrivals(&random, rate * load);
		while (requests-- > 0 && worker->objects.in_use_count < CLIENTS)
			serve(worker, &clock, &random);
	}
	return worker;
}

int main(int argc, char **argv)
{
	pthread_t threads[THREADS];
	void *done[THREADS];
	uint64_t random;
	uintptr_t i;

	if (growth_start(argc, argv) != 0)
		return 2;
	random = growth_stream(0);
	warm_at = growth_uniform(&random, 0.1, 0.25) * (double)growth_units;
	for (i = 0; i < THREADS; i++)
		(void)pthread_create(&threads[i], NULL, work, (void *)(i + 1));
	for (i = 0; i < THREADS; i++)
		(void)pthread_join(threads[i], &done[i]);
	growth_end();
	for (i = 0; i < THREADS; i++) {
		struct worker *worker = done[i];

		pool_done(&worker->chunks, &site_new_chunk);
		pool_done(&worker->objects, &site_new_object);
		free(worker);
	}
	return 0;
}
