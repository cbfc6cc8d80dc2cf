/* SPDX-License-Identifier: MIT */
// build: -pthread
/*
 * A pool of threads that steal work from each other. Jobs split into tasks, which split again. A
 * thread's deque doubles when it is full and is never made smaller, so that it once reaches its
 * size. Each thread logs into a ring of its last lines.
 */
#include <pthread.h>

#include "growth_play.h"

enum { WORKERS = 3, LINES = 200 };

GROWTH_SITE(STEADY, submit_job);
GROWTH_SITE(STEADY, split_task);
GROWTH_SITE(STEADY, enlarge_deque);
GROWTH_SITE(STEADY, log_line);

struct task {
	size_t bytes;
	struct growth_site *site;
	int depth;
};

struct worker {
	pthread_mutex_t lock;
	struct task **deque;
	size_t count, room;
	struct growth_item *lines[LINES];
	long line_count;
	uint64_t random;
};

static struct worker workers[WORKERS];
static pthread_barrier_t together;
static double capacity;
static long line_limit;

static int tick_together(struct growth_clock *clock)
{
	if (!growth_tick(clock))
		return 0;
	(void)pthread_barrier_wait(&together);
	return 1;
}

static GROWTH_FN struct task *submit_job(size_t bytes)
{
	struct task *task = malloc(bytes);

	growth_live(&site_submit_job, task, bytes);
	task->site = &site_submit_job;
	return task;
}

static GROWTH_FN struct task *split_task(size_t bytes)
{
	struct task *task = malloc(bytes);

	growth_live(&site_split_task, task, bytes);
	task->site = &site_split_task;
	return task;
}

static GROWTH_FN void enlarge_deque(struct worker *worker)
{
	size_t before = worker->room, room = before ? 2 * before : 64;

	worker->deque = realloc(worker->deque, room * sizeof(struct task *));
	growth_gone(&site_enlarge_deque, before * sizeof(struct task *));
	growth_live(&site_enlarge_deque, worker->deque, room * sizeof(struct task *));
	worker->room = room;
}

static GROWTH_FN void log_line(struct worker *self, size_t bytes)
{
	struct growth_item **place = &self->lines[self->line_count++ % line_limit];
	struct growth_item *line = malloc(bytes);

	growth_live(&site_log_line, line, bytes);
	if (*place)
		growth_free(&site_log_line, *place, (*place)->bytes);
	line->bytes = bytes;
	*place = line;
}

static void push(struct worker *worker, struct task *task, size_t bytes, int depth)
{
	task->bytes = bytes;
	task->depth = depth;
	(void)pthread_mutex_lock(&worker->lock);
	if (worker->count == worker->room)
		enlarge_deque(worker);
	worker->deque[worker->count++] = task;
	(void)pthread_mutex_unlock(&worker->lock);
}

/* The owner takes the last one, a thief the first. */
static struct task *take(struct worker *worker, int steal)
{
	struct task *task = NULL;

	(void)pthread_mutex_lock(&worker->lock);
	if (worker->count > 0) {
		worker->count--;
		task = worker->deque[steal ? 0 : worker->count];
		if (steal)
			memmove(worker->deque, worker->deque + 1,
				worker->count * sizeof(struct task *));
	}
	(void)pthread_mutex_unlock(&worker->lock);
	return task;
}

static struct task *next_task(struct worker *self)
{
	struct task *task = take(self, 0);
	int i;

	for (i = 0; i < WORKERS && !task; i++)
		if (&workers[i] != self)
			task = take(&workers[i], 1);
	return task;
}

static void *work(void *arg)
{
	struct worker *self = arg;
	struct growth_clock clock = { 0 };
	double credit = 0;

	while (tick_together(&clock)) {
		credit += capacity / WORKERS * growth_uniform(&self->random, 0.6, 1.4);
		for (; credit >= 1; credit--) {
			struct task *task = next_task(self);
			long count;

			if (!task) {
				credit = 0;
				break;
			}
			count = task->depth > 0 ? growth_between(&self->random, 2, 3) : 0;
			while (count-- > 0) {
				size_t bytes = growth_size(&self->random, 64, 2048);

				push(self, split_task(bytes), bytes, task->depth - 1);
			}
			growth_free(task->site, task, task->bytes);
			if (growth_chance(&self->random, 0.5))
				log_line(self, (size_t)growth_between(&self->random, 40, 300));
		}
	}
	return NULL;
}

int main(int argc, char **argv)
{
	struct growth_clock clock = { 0 };
	pthread_t threads[WORKERS];
	double jobs, noise = 1;
	struct task *task;
	uint64_t random;
	int i, depth;

	if (growth_start(argc, argv) != 0)
		return 2;
	(void)pthread_barrier_init(&together, NULL, WORKERS + 1);
	random = growth_stream(0);
	jobs = growth_uniform(&random, 0.2, 0.8);
	depth = (int)growth_between(&random, 3, 4);
	line_limit = growth_between(&random, 50, LINES);
	/* a job is 1 + 2.5 + 6.25 + 15.6 (+ 39) tasks */
	capacity = jobs * (depth == 3 ? 25.4 : 64.4) * growth_uniform(&random, 1.25, 1.6);
	for (i = 0; i < WORKERS; i++) {
		workers[i].random = growth_stream((unsigned)i + 1);
		(void)pthread_mutex_init(&workers[i].lock, NULL);
	}
	for (i = 0; i < WORKERS; i++)
		(void)pthread_create(&threads[i], NULL, work, &workers[i]);
	while (tick_together(&clock)) {
		long count = growth_arrivals(&random,
					     jobs * growth_noise(&random, &noise, 0.95, 0.12));

		while (count-- > 0) {
			size_t bytes = growth_size(&random, 512, 4096);

			push(&workers[growth_between(&random, 0, WORKERS - 1)], submit_job(bytes),
			     bytes, depth);
		}
	}
	for (i = 0; i < WORKERS; i++)
		(void)pthread_join(threads[i], NULL);
	growth_end();
	for (i = 0; i < WORKERS; i++) {
		while ((task = take(&workers[i], 0)))
			free(task);
		free(workers[i].deque);
		for (depth = 0; depth < LINES; depth++)
			free(workers[i].lines[depth]);
	}
	return 0;
}
