/* SPDX-License-Identifier: MIT */
/*
 * A gateway in front of one long-lived event bus. Each request registers two listeners there and
 * removes only one of them when it ends. It also arms a time-out, which an answer cancels, but
 * which a client that hangs up leaves armed for ever.
 */
#include "growth_play.h"

GROWTH_SITE(STEADY, on_data);
GROWTH_SITE(GROWING, on_close);
GROWTH_SITE(GROWING, arm_timeout);
GROWTH_SITE(STEADY, read_body);

static struct growth_item *close_listeners, *orphans;
static struct growth_wheel data_listeners, timeouts, bodies;

static GROWTH_FN void *on_data(size_t bytes)
{
	void *listener = malloc(bytes);

	growth_live(&site_on_data, listener, bytes);
	return listener;
}

static GROWTH_FN void *on_close(size_t bytes)
{
	void *listener = malloc(bytes);

	growth_live(&site_on_close, listener, bytes);
	return listener;
}

static GROWTH_FN void *arm_timeout(size_t bytes)
{
	void *timer = calloc(1, bytes);

	growth_live(&site_arm_timeout, timer, bytes);
	return timer;
}

static GROWTH_FN void *read_body(size_t bytes)
{
	void *body = malloc(bytes);

	growth_live(&site_read_body, body, bytes);
	return body;
}

static void keep(struct growth_item **list, struct growth_item *item, size_t bytes)
{
	item->bytes = bytes;
	item->next = *list;
	*list = item;
}

static void serve(uint64_t *random, const struct growth_clock *clock, double aborts)
{
	long ticks = growth_chance(random, 0.05) ? growth_between(random, 30, 200)
						 : growth_between(random, 1, 25);
	size_t data = (size_t)growth_between(random, 48, 96);
	size_t closed = (size_t)growth_between(random, 48, 80);
	size_t timer = (size_t)growth_between(random, 96, 160);
	size_t body = growth_size(random, 256, 16384);

	growth_later(&data_listeners, clock, on_data(data), data, ticks);
	keep(&close_listeners, on_close(closed), closed);
	if (growth_chance(random, aborts))
		keep(&orphans, arm_timeout(timer), timer);
	else
		growth_later(&timeouts, clock, arm_timeout(timer), timer, ticks);
	growth_later(&bodies, clock, read_body(body), body, ticks / 2);
}

int main(int argc, char **argv)
{
	struct growth_clock clock = { 0 };
	double rate, aborts, rush_at, rush = 1, noise = 1;
	uint64_t random;

	if (growth_start(argc, argv) != 0)
		return 2;
	random = growth_stream(0);
	rate = growth_uniform(&random, 2, 8);
	aborts = growth_uniform(&random, 0.04, 0.1);
	rush_at = growth_uniform(&random, 5, 50);
	while (growth_tick(&clock)) {
		double now = growth_now(&clock);
		long requests;

		growth_expire(&data_listeners, &clock, &site_on_data);
		growth_expire(&timeouts, &clock, &site_arm_timeout);
		growth_expire(&bodies, &clock, &site_read_body);
		if (now >= rush_at) {
			rush = growth_uniform(&random, 1.5, 3);
			rush_at = now + growth_uniform(&random, 20, 70);
		}
		rush = 1 + (rush - 1) * 0.98;
		requests = growth_arrivals(&random,
					   rate * rush * growth_noise(&random, &noise, 0.96, 0.12));
		while (requests-- > 0)
			serve(&random, &clock, aborts);
	}
	growth_end();
	growth_drain(&data_listeners, &site_on_data);
	growth_drain(&timeouts, &site_arm_timeout);
	growth_drain(&bodies, &site_read_body);
	growth_free_list(&orphans, &site_arm_timeout);
	growth_free_list(&close_listeners, &site_on_close);
	return 0;
}
