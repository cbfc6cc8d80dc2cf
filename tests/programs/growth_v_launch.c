/* SPDX-License-Identifier: MIT */
// build: -pthread
/*
 * A shop on the day it opens: load ramps up for a minute or two and stays. Sessions and their
 * carts go when nobody used them for a while. A timer that is armed anew leaves the one before in
 * the queue until it is due. Now and then the network blinks and many clients connect again at
 * once.
 */
#include <pthread.h>

#include "growth_play.h"

enum { SHARDS = 2 };

GROWTH_SITE(STEADY, open_session);
GROWTH_SITE(STEADY, fill_cart);
GROWTH_SITE(STEADY, arm_timer);
GROWTH_SITE(STEADY, accept_connection);

struct shard {
	struct growth_clock clock;
	struct growth_wheel sessions, carts, timers, connections;
	uint64_t random;
};

static double rate, ramp_from, ramp_to, idle, blink_every, blink_phase;
static long timeout_ticks;

static GROWTH_FN void *open_session(size_t bytes)
{
	void *session = calloc(1, bytes);

	growth_live(&site_open_session, session, bytes);
	return session;
}

static GROWTH_FN void *fill_cart(size_t bytes)
{
	void *cart = malloc(bytes);

	growth_live(&site_fill_cart, cart, bytes);
	return cart;
}

static GROWTH_FN void *arm_timer(size_t bytes)
{
	void *timer = malloc(bytes);

	growth_live(&site_arm_timer, timer, bytes);
	return timer;
}

static GROWTH_FN void *accept_connection(size_t bytes)
{
	void *connection = malloc(bytes);

	growth_live(&site_accept_connection, connection, bytes);
	return connection;
}

/* A visitor stays some seconds; what is his, as long again as one may be idle. */
static void visit(struct shard *self)
{
	long ticks = growth_between(&self->random, 5, 150), end = ticks + growth_ticks(idle);
	size_t bytes = growth_size(&self->random, 400, 1600);

	growth_later(&self->sessions, &self->clock, open_session(bytes), bytes, end);
	if (growth_chance(&self->random, 0.4)) {
		bytes = growth_size(&self->random, 100, 6000);
		growth_later(&self->carts, &self->clock, fill_cart(bytes), bytes, end);
	}
}

static void connect_one(struct shard *self)
{
	size_t bytes = growth_size(&self->random, 1024, 4096);

	growth_later(&self->connections, &self->clock, accept_connection(bytes), bytes,
		     growth_chance(&self->random, 0.1) ? growth_between(&self->random, 50, 200)
						       : growth_between(&self->random, 2, 40));
}

static double load_at(double now)
{
	double x = (now - ramp_from) / (ramp_to - ramp_from);

	x = x < 0 ? 0 : x > 1 ? 1 : x;
	return 0.08 + 0.92 * x * x * (3 - 2 * x);
}

static void *serve(void *arg)
{
	struct shard *self = arg;
	double noise = 1, blink_at = blink_phase;

	while (growth_tick(&self->clock)) {
		double now = growth_now(&self->clock);
		double load = rate / SHARDS * load_at(now) *
			      growth_noise(&self->random, &noise, 0.96, 0.06);
		long count = growth_arrivals(&self->random, load);

		growth_expire(&self->sessions, &self->clock, &site_open_session);
		growth_expire(&self->carts, &self->clock, &site_fill_cart);
		growth_expire(&self->timers, &self->clock, &site_arm_timer);
		growth_expire(&self->connections, &self->clock, &site_accept_connection);
		while (count-- > 0)
			visit(self);
		for (count = growth_arrivals(&self->random, 2 * load); count > 0; count--)
			growth_later(&self->timers, &self->clock, arm_timer(112), 112,
				     timeout_ticks);
		count = growth_arrivals(&self->random, 1.5 * load);
		if (now >= blink_at) {
			count += (long)(load * growth_uniform(&self->random, 30, 100));
			blink_at += blink_every;
		}
		while (count-- > 0)
			connect_one(self);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	static struct shard shards[SHARDS];
	pthread_t threads[SHARDS];
	uint64_t random;
	unsigned i;

	if (growth_start(argc, argv) != 0)
		return 2;
	random = growth_stream(0);
	rate = growth_uniform(&random, 2, 8);
	ramp_from = growth_uniform(&random, 0, 30);
	ramp_to = growth_uniform(&random, 60, 115);
	idle = growth_uniform(&random, 8, 20);
	timeout_ticks = growth_ticks(growth_uniform(&random, 10, 30));
	blink_every = growth_uniform(&random, 40, 80);
	blink_phase = growth_uniform(&random, 10, 60);
	for (i = 0; i < SHARDS; i++) {
		shards[i].random = growth_stream(i + 1);
		(void)pthread_create(&threads[i], NULL, serve, &shards[i]);
	}
	for (i = 0; i < SHARDS; i++)
		(void)pthread_join(threads[i], NULL);
	growth_end();
	for (i = 0; i < SHARDS; i++) {
		growth_drain(&shards[i].sessions, &site_open_session);
		growth_drain(&shards[i].carts, &site_fill_cart);
		growth_drain(&shards[i].timers, &site_arm_timer);
		growth_drain(&shards[i].connections, &site_accept_connection);
	}
	return 0;
}
