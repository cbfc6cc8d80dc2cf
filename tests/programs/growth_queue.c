/* SPDX-License-Identifier: MIT */
// build: -pthread
/*
 * A message broker whose consumers are a few percent too slow. Load goes up and down, so that the
 * queue gets shorter for a while and then longer than it ever was. Three producers, two consumers.
 */
#include <pthread.h>

#include "growth_play.h"

enum { PRODUCERS = 3, CONSUMERS = 2 };

GROWTH_SITE(GROWING, enqueue_message);
GROWTH_MAKER(STEADY, decode_message);

/* All begin a tick together: who would fall behind on a busy machine must not change the queue. */
static pthread_barrier_t together;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct growth_item *first, **last = &first;
static double rate, too_slow, period, phase, swing;

static int tick_together(struct growth_clock *clock)
{
	if (!growth_tick(clock))
		return 0;
	(void)pthread_barrier_wait(&together);
	return 1;
}

static GROWTH_FN void enqueue_message(size_t bytes)
{
	struct growth_item *message = malloc(bytes);

	growth_live(&site_enqueue_message, message, bytes);
	message->bytes = bytes;
	message->next = NULL;
	(void)pthread_mutex_lock(&lock);
	*last = message;
	last = &message->next;
	(void)pthread_mutex_unlock(&lock);
}

static struct growth_item *dequeue(void)
{
	struct growth_item *message;

	(void)pthread_mutex_lock(&lock);
	message = first;
	if (message) {
		first = message->next;
		if (!first)
			last = &first;
	}
	(void)pthread_mutex_unlock(&lock);
	return message;
}

static void *produce(void *arg)
{
	uint64_t random = growth_stream((unsigned)(uintptr_t)arg);
	struct growth_clock clock = { 0 };
	double noise = 1;

	while (tick_together(&clock)) {
		double load = 1 + swing * growth_wave(growth_now(&clock), period, phase);
		long count;

		load *= growth_noise(&random, &noise, 0.9, 0.12);
		count = growth_arrivals(&random, rate * load / PRODUCERS / GROWTH_TICKS);
		while (count-- > 0)
			enqueue_message(growth_size(&random, 80, 700));
	}
	return NULL;
}

static void *consume(void *arg)
{
	uint64_t random = growth_stream((unsigned)(uintptr_t)arg);
	struct growth_clock clock = { 0 };
	struct growth_wheel *decoded = calloc(1, sizeof(*decoded));
	double credit = 0;

	if (!decoded)
		abort();
	while (tick_together(&clock)) {
		growth_expire(decoded, &clock, &site_decode_message);
		credit += rate / too_slow / CONSUMERS / GROWTH_TICKS *
			  growth_uniform(&random, 0.8, 1.2);
		for (; credit >= 1; credit--) {
			struct growth_item *message = dequeue();
			size_t bytes;

			if (!message) {
				credit = 0;
				break;
			}
			bytes = message->bytes * 2;
			growth_later(decoded, &clock, decode_message(bytes), bytes,
				     growth_between(&random, 1, 5));
			growth_free(&site_enqueue_message, message, message->bytes);
		}
	}
	return decoded;
}

int main(int argc, char **argv)
{
	pthread_t producers[PRODUCERS], consumers[CONSUMERS];
	void *decoded[CONSUMERS];
	uint64_t random;
	uintptr_t i;

	if (growth_start(argc, argv) != 0)
		return 2;
	(void)pthread_barrier_init(&together, NULL, PRODUCERS + CONSUMERS);
	random = growth_stream(0);
	rate = growth_uniform(&random, 300, 1000);
	too_slow = growth_uniform(&random, 1.04, 1.08);
	period = growth_uniform(&random, 25, 60);
	phase = growth_uniform(&random, 0, 1);
	swing = growth_uniform(&random, 0.05, 0.15);
	for (i = 0; i < PRODUCERS; i++)
		(void)pthread_create(&producers[i], NULL, produce, (void *)(i + 1));
	for (i = 0; i < CONSUMERS; i++)
		(void)pthread_create(&consumers[i], NULL, consume, (void *)(i + 100));
	for (i = 0; i < PRODUCERS; i++)
		(void)pthread_join(producers[i], NULL);
	for (i = 0; i < CONSUMERS; i++)
		(void)pthread_join(consumers[i], &decoded[i]);
	growth_end();
	for (i = 0; i < CONSUMERS; i++) {
		growth_drain(decoded[i], &site_decode_message);
		free(decoded[i]);
	}
	growth_free_list(&first, &site_enqueue_message);
	return 0;
}
