/* SPDX-License-Identifier: MIT */
// build: -pthread
/*
 * Memory that wobbles around a level. The queue of a server that keeps up, if only just: bursts pile
 * requests up, three workers bring it down again. And chat rooms, some hundred, that open and close
 * at random, in a walk that its usual number draws back.
 */
#include <pthread.h>

#include "growth_play.h"

enum { WORKERS = 3, ROOMS = 4096 };

GROWTH_SITE(STEADY, accept_request);
GROWTH_SITE(STEADY, open_room);
GROWTH_SITE(STEADY, build_answer);

/* All begin a tick together: who would fall behind on a busy machine must not change the queue. */
static pthread_barrier_t together;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct growth_item *first, **last = &first;
static struct growth_item *rooms[ROOMS];
static long room_count;
static double rate, spare;

static int tick_together(struct growth_clock *clock)
{
	if (!growth_tick(clock))
		return 0;
	(void)pthread_barrier_wait(&together);
	return 1;
}

static GROWTH_FN void accept_request(size_t bytes)
{
	struct growth_item *request = malloc(bytes);

	growth_live(&site_accept_request, request, bytes);
	request->bytes = bytes;
	request->next = NULL;
	(void)pthread_mutex_lock(&lock);
	*last = request;
	last = &request->next;
	(void)pthread_mutex_unlock(&lock);
}

static struct growth_item *next_request(void)
{
	struct growth_item *request;

	(void)pthread_mutex_lock(&lock);
	request = first;
	if (request) {
		first = request->next;
		if (!first)
			last = &first;
	}
	(void)pthread_mutex_unlock(&lock);
	return request;
}

static GROWTH_FN struct growth_item *open_room(size_t bytes)
{
	struct growth_item *room = malloc(bytes);

	growth_live(&site_open_room, room, bytes);
	room->bytes = bytes;
	return room;
}

static GROWTH_FN void *build_answer(size_t bytes)
{
	void *answer = malloc(bytes);

	growth_live(&site_build_answer, answer, bytes);
	return answer;
}

static void *work(void *arg)
{
	uint64_t random = growth_stream((unsigned)(uintptr_t)arg);
	struct growth_wheel *answers = calloc(1, sizeof(*answers));
	struct growth_clock clock = { 0 };
	double credit = 0;

	if (!answers)
		abort();
	while (tick_together(&clock)) {
		growth_expire(answers, &clock, &site_build_answer);
		credit += rate * spare / WORKERS * growth_uniform(&random, 0.6, 1.4);
		for (; credit >= 1; credit--) {
			struct growth_item *request = next_request();
			size_t bytes = growth_size(&random, 512, 8192);

			if (!request) {
				credit = 0;
				break;
			}
			growth_free(&site_accept_request, request, request->bytes);
			growth_later(answers, &clock, build_answer(bytes), bytes,
				     growth_between(&random, 1, 12));
		}
	}
	return answers;
}

/* A class comes or goes together; that more come the fewer there are is a weak force. */
static void let_rooms_change(uint64_t *random, double usual, long steps)
{
	while (steps-- > 0) {
		double over = ((double)room_count - usual) / usual;
		int less = growth_chance(random, 0.5 + 0.08 * over);
		long count = growth_between(random, 1, 6);

		while (count-- > 0) {
			if (less && room_count > 0) {
				long at = growth_between(random, 0, room_count - 1);

				growth_free(&site_open_room, rooms[at], rooms[at]->bytes);
				rooms[at] = rooms[--room_count];
			} else if (!less && room_count < ROOMS) {
				rooms[room_count++] = open_room(growth_size(random, 300, 6000));
			}
		}
	}
}

int main(int argc, char **argv)
{
	struct growth_clock clock = { 0 };
	pthread_t workers[WORKERS];
	void *answers[WORKERS];
	double noise = 1, burst = 1, burst_at, usual;
	uint64_t random;
	uintptr_t i;

	if (growth_start(argc, argv) != 0)
		return 2;
	(void)pthread_barrier_init(&together, NULL, WORKERS + 1);
	random = growth_stream(0);
	rate = growth_uniform(&random, 5, 25);
	spare = growth_uniform(&random, 1.27, 1.5);
	usual = growth_uniform(&random, 100, 400);
	burst_at = growth_uniform(&random, 2, 30);
	for (i = 0; i < WORKERS; i++)
		(void)pthread_create(&workers[i], NULL, work, (void *)(i + 1));
	while (tick_together(&clock)) {
		double now = growth_now(&clock), load;
		long count;

		if (now >= burst_at) {
			burst = growth_uniform(&random, 1.3, 2.5);
			burst_at = now + growth_uniform(&random, 10, 40);
		}
		burst = 1 + (burst - 1) * 0.97;
		load = burst * growth_noise(&random, &noise, 0.95, 0.12);
		count = growth_arrivals(&random, rate * load);
		while (count-- > 0)
			accept_request(growth_size(&random, 200, 3000));
		let_rooms_change(&random, usual, growth_between(&random, 0, 10));
	}
	for (i = 0; i < WORKERS; i++)
		(void)pthread_join(workers[i], &answers[i]);
	growth_end();
	growth_free_list(&first, &site_accept_request);
	for (i = 0; i < WORKERS; i++) {
		growth_drain(answers[i], &site_build_answer);
		free(answers[i]);
	}
	while (room_count > 0)
		free(rooms[--room_count]);
	return 0;
}
