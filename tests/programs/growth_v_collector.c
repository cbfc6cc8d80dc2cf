/* SPDX-License-Identifier: MIT */
/*
 * An interpreter that collects its garbage in cycles, each 10 to 30 seconds, or earlier when much
 * has come together: until then what is dead stands beside what lives. The shapes of objects are
 * kept for good, but a program has only so many. Rows to be stored are buffered and written
 * together, later when the disk does not answer.
 */
#include "growth_play.h"

enum { SHAPES = 200 };

GROWTH_SITE(STEADY, new_object);
GROWTH_SITE(STEADY, learn_shape);
GROWTH_SITE(STEADY, grow_mark_stack);
GROWTH_SITE(STEADY, buffer_row);

struct object {
	struct growth_item item;
	long dead; /* the tick from which nothing leads to it */
};

static struct growth_item *heap, *rows;
static struct growth_wheel mark_stacks;
static void *shapes[SHAPES];
static long row_count;

static GROWTH_FN void new_object(size_t bytes, long dead)
{
	struct object *object = calloc(1, bytes);

	growth_live(&site_new_object, object, bytes);
	object->item.bytes = bytes;
	object->item.next = heap;
	object->dead = dead;
	heap = &object->item;
}

static GROWTH_FN void *learn_shape(size_t bytes)
{
	void *shape = malloc(bytes);

	growth_live(&site_learn_shape, shape, bytes);
	return shape;
}

static GROWTH_FN void *grow_mark_stack(size_t bytes)
{
	void *stack = malloc(bytes);

	growth_live(&site_grow_mark_stack, stack, bytes);
	return stack;
}

static GROWTH_FN void buffer_row(size_t bytes)
{
	struct growth_item *row = malloc(bytes);

	growth_live(&site_buffer_row, row, bytes);
	row->bytes = bytes;
	row->next = rows;
	rows = row;
	row_count++;
}

/* Nearly all die young, a few live for half a minute. */
static long lifetime(uint64_t *random)
{
	double what = growth_uniform(random, 0, 1);

	return what < 0.9    ? growth_between(random, 1, 20)
	       : what < 0.99 ? growth_between(random, 20, 150)
			     : growth_between(random, 150, 400);
}

static void collect(uint64_t *random, const struct growth_clock *clock)
{
	struct growth_item **place = &heap;
	long parts = growth_between(random, 2, 6);

	while (parts-- > 0)
		growth_later(&mark_stacks, clock, grow_mark_stack(16384), 16384,
			     growth_between(random, 2, 12));
	while (*place) {
		struct object *object = (struct object *)*place;

		if (object->dead <= clock->tick) {
			*place = object->item.next;
			growth_free(&site_new_object, object, object->item.bytes);
		} else {
			place = &object->item.next;
		}
	}
}

int main(int argc, char **argv)
{
	struct growth_clock clock = { 0 };
	double rate, every, collect_at, flush_every, flush_at, flush_late, busy_at, noise = 1,
										    busy = 1;
	long shape_count, row_limit, limit_bytes, i;
	uint64_t random;

	if (growth_start(argc, argv) != 0)
		return 2;
	random = growth_stream(0);
	rate = growth_uniform(&random, 5, 25);
	every = growth_uniform(&random, 10, 30);
	collect_at = growth_uniform(&random, 5, every);
	limit_bytes = (long)(rate * 10 * 250 * every * 1.4);
	shape_count = growth_between(&random, 40, SHAPES);
	flush_every = growth_uniform(&random, 5, 20);
	flush_at = flush_every;
	flush_late = growth_uniform(&random, 0.05, 0.2);
	row_limit = (long)(rate * 3 * flush_every * 1.5);
	busy_at = growth_uniform(&random, 5, 40);
	while (growth_tick(&clock)) {
		double now = growth_now(&clock), load;
		long count;

		growth_expire(&mark_stacks, &clock, &site_grow_mark_stack);
		if (now >= busy_at) {
			busy = growth_uniform(&random, 0.5, 1.5);
			busy_at = now + growth_uniform(&random, 10, 60);
		}
		load = rate * busy * growth_noise(&random, &noise, 0.95, 0.1);
		for (count = growth_arrivals(&random, load); count > 0; count--) {
			i = growth_between(&random, 0, shape_count - 1);
			if (!shapes[i] && growth_chance(&random, 0.1))
				shapes[i] = learn_shape((size_t)growth_between(&random, 300, 900));
			new_object(growth_size(&random, 48, 768), clock.tick + lifetime(&random));
		}
		for (count = growth_arrivals(&random, 0.3 * load); count > 0; count--)
			buffer_row(growth_size(&random, 80, 1200));
		if (now >= collect_at || growth_bytes(&site_new_object) > limit_bytes) {
			collect(&random, &clock);
			collect_at = now + every * growth_uniform(&random, 0.8, 1.1);
		}
		if (now >= flush_at || row_count >= row_limit) {
			if (growth_chance(&random, flush_late) && row_count < row_limit) {
				flush_at = now + growth_uniform(&random, 2, 10);
				continue;
			}
			growth_free_list(&rows, &site_buffer_row);
			row_count = 0;
			flush_at = now + flush_every;
		}
	}
	growth_end();
	growth_free_list(&heap, &site_new_object);
	growth_free_list(&rows, &site_buffer_row);
	growth_drain(&mark_stacks, &site_grow_mark_stack);
	for (i = 0; i < SHAPES; i++)
		free(shapes[i]);
	return 0;
}
