/* SPDX-License-Identifier: MIT */
/*
 * A sender of webhooks. What fails is tried again, later and later; an endpoint that fails too
 * often is left alone for a while, so that nobody waits for it. Some endpoints are down for half a
 * minute and come back. One is shut down for good, and nobody drops the events that queue up for
 * it.
 */
#include "growth_play.h"

enum { ENDPOINTS = 30, FAILURES = 64 };

GROWTH_SITE(GROWING, queue_event);
GROWTH_SITE(STEADY, open_attempt);
GROWTH_SITE(STEADY, note_failure);

struct event {
	struct growth_item item;
	long endpoint;
	long tries;
};

static struct growth_wheel events, attempts;
static struct growth_item *failures[FAILURES];
static long failure_count;
static double down_until[ENDPOINTS];

static GROWTH_FN struct event *queue_event(size_t bytes, long endpoint)
{
	struct event *event = malloc(bytes);

	growth_live(&site_queue_event, event, bytes);
	event->item.bytes = bytes;
	event->endpoint = endpoint;
	event->tries = 0;
	return event;
}

static GROWTH_FN void *open_attempt(size_t bytes)
{
	void *attempt = malloc(bytes);

	growth_live(&site_open_attempt, attempt, bytes);
	return attempt;
}

static GROWTH_FN void note_failure(size_t bytes)
{
	struct growth_item **place = &failures[failure_count++ % FAILURES];
	struct growth_item *failure = malloc(bytes);

	growth_live(&site_note_failure, failure, bytes);
	if (*place)
		growth_free(&site_note_failure, *place, (*place)->bytes);
	failure->bytes = bytes;
	*place = failure;
}

/* Returns: whether it was delivered. Nobody even tries while the endpoint is down. */
static int deliver(uint64_t *random, const struct growth_clock *clock, const struct event *event,
		   double fails)
{
	size_t bytes = growth_size(random, 2048, 16384);

	if (growth_now(clock) < down_until[event->endpoint])
		return 0;
	growth_later(&attempts, clock, open_attempt(bytes), bytes,
		     growth_chance(random, 0.05) ? 30 : growth_between(random, 1, 8));
	if (!growth_chance(random, fails))
		return 1;
	note_failure(growth_size(random, 100, 600));
	return 0;
}

static void deliver_due(uint64_t *random, const struct growth_clock *clock, double fails)
{
	struct growth_item **due = &events.due[clock->tick % GROWTH_WHEEL];

	while (*due) {
		struct event *event = (struct event *)*due;

		*due = event->item.next;
		if (deliver(random, clock, event, fails)) {
			growth_free(&site_queue_event, event, event->item.bytes);
		} else {
			long wait = 10L << (event->tries < 5 ? event->tries++ : 5);

			growth_later(&events, clock, event, event->item.bytes,
				     growth_between(random, wait / 2, wait));
		}
	}
}

int main(int argc, char **argv)
{
	struct growth_clock clock = { 0 };
	double rate, fails, dead_at, outage_at, noise = 1;
	long endpoints, dead, i;
	uint64_t random;

	if (growth_start(argc, argv) != 0)
		return 2;
	random = growth_stream(0);
	rate = growth_uniform(&random, 3, 8);
	fails = growth_uniform(&random, 0.08, 0.15);
	endpoints = growth_between(&random, 12, ENDPOINTS);
	dead = growth_between(&random, 0, endpoints - 1);
	dead_at = growth_uniform(&random, 20, 110);
	outage_at = growth_uniform(&random, 10, 40);
	while (growth_tick(&clock)) {
		double now = growth_now(&clock);
		long count;

		growth_expire(&attempts, &clock, &site_open_attempt);
		if (now >= dead_at)
			down_until[dead] = now + 1000;
		if (now >= outage_at) {
			i = growth_between(&random, 0, endpoints - 1);
			if (now >= down_until[i])
				down_until[i] = now + growth_uniform(&random, 8, 30);
			outage_at = now + growth_uniform(&random, 20, 60);
		}
		count = growth_arrivals(&random, rate * growth_noise(&random, &noise, 0.96, 0.12));
		while (count-- > 0) {
			size_t bytes = growth_size(&random, 200, 4000);

			growth_later(&events, &clock,
				     queue_event(bytes, growth_between(&random, 0, endpoints - 1)),
				     bytes, growth_between(&random, 1, 5));
		}
		deliver_due(&random, &clock, fails);
	}
	growth_end();
	growth_drain(&events, &site_queue_event);
	growth_drain(&attempts, &site_open_attempt);
	for (i = 0; i < FAILURES; i++)
		free(failures[i]);
	return 0;
}
