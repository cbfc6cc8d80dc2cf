/* SPDX-License-Identifier: MIT */
/*
 * Something new is built beside what is in use, then takes its place: a configuration that is read
 * again from time to time, each time a little longer or shorter; a search index that is rebuilt bit
 * by bit, so that it always grows while it is looked at; and frames in two buffers.
 */
#include "growth_play.h"

GROWTH_SITE(STEADY, read_option);
GROWTH_SITE(STEADY, add_posting);
GROWTH_SITE(STEADY, draw_shape);

static struct growth_item *config, *index_now, *index_next, *front, *back;

static GROWTH_FN void read_option(struct growth_item **to, size_t bytes)
{
	struct growth_item *option = malloc(bytes);

	growth_live(&site_read_option, option, bytes);
	option->bytes = bytes;
	option->next = *to;
	*to = option;
}

static GROWTH_FN void add_posting(struct growth_item **to, size_t bytes)
{
	struct growth_item *posting = malloc(bytes);

	growth_live(&site_add_posting, posting, bytes);
	posting->bytes = bytes;
	posting->next = *to;
	*to = posting;
}

static GROWTH_FN void draw_shape(struct growth_item **to, size_t bytes)
{
	struct growth_item *shape = malloc(bytes);

	growth_live(&site_draw_shape, shape, bytes);
	shape->bytes = bytes;
	shape->next = *to;
	*to = shape;
}

static void take_place(struct growth_item **now, struct growth_item **next,
		       struct growth_site *site)
{
	growth_free_list(now, site);
	*now = *next;
	*next = NULL;
}

static void reload(uint64_t *random, long options)
{
	struct growth_item *fresh = NULL;

	while (options-- > 0)
		read_option(&fresh, growth_size(random, 24, 400));
	take_place(&config, &fresh, &site_read_option);
}

int main(int argc, char **argv)
{
	struct growth_clock clock = { 0 };
	double options, reload_at = 0, postings, rebuild, index_at, shapes, frame_at = 0, speed = 1;
	uint64_t random;

	if (growth_start(argc, argv) != 0)
		return 2;
	random = growth_stream(0);
	options = growth_uniform(&random, 200, 2000);
	postings = growth_uniform(&random, 2, 12);
	rebuild = growth_uniform(&random, 15, 45);
	index_at = rebuild;
	shapes = growth_uniform(&random, 1, 8);
	while (growth_tick(&clock)) {
		double now = growth_now(&clock);
		long count;

		if (now >= reload_at) {
			reload(&random, (long)(options * growth_uniform(&random, 0.85, 1.15)));
			reload_at = now + growth_uniform(&random, 15, 60);
		}
		if (now >= index_at) {
			take_place(&index_now, &index_next, &site_add_posting);
			index_at = now + rebuild * growth_uniform(&random, 0.9, 1.1);
			speed = growth_uniform(&random, 0.85, 1.15);
		}
		for (count = growth_arrivals(&random, postings * speed); count > 0; count--)
			add_posting(&index_next, growth_size(&random, 32, 600));
		if (now >= frame_at) {
			take_place(&front, &back, &site_draw_shape);
			frame_at = now + growth_uniform(&random, 2, 6);
		}
		for (count = growth_arrivals(&random, shapes); count > 0; count--)
			draw_shape(&back, growth_size(&random, 64, 2000));
	}
	growth_end();
	growth_free_list(&config, &site_read_option);
	growth_free_list(&index_now, &site_add_posting);
	growth_free_list(&index_next, &site_add_posting);
	growth_free_list(&front, &site_draw_shape);
	growth_free_list(&back, &site_draw_shape);
	return 0;
}
