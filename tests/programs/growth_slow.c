/* SPDX-License-Identifier: MIT */
/*
 * Two leaks of 16 bytes a second each in a server that allocates megabytes a second. One has a call
 * stack of its own: a handle that nobody closes. The other shares its call stack with thousands of
 * labels that are freed: some path forgets to drop its reference.
 */
#include "growth_play.h"

enum { LABEL_BYTES = 16 };

GROWTH_SITE(GROWING, open_handle);
GROWTH_SITE(GROWING, intern_label);
GROWTH_SITE(STEADY, read_body);
GROWTH_SITE(STEADY, render_page);

static struct growth_wheel labels, bodies, pages;

static GROWTH_FN void *open_handle(void)
{
	void *handle = malloc(LABEL_BYTES);

	growth_live(&site_open_handle, handle, LABEL_BYTES);
	return handle;
}

static GROWTH_FN void *intern_label(void)
{
	void *label = malloc(LABEL_BYTES);

	growth_live(&site_intern_label, label, LABEL_BYTES);
	return label;
}

static GROWTH_FN void *read_body(size_t bytes)
{
	void *body = malloc(bytes);

	growth_live(&site_read_body, body, bytes);
	return body;
}

static GROWTH_FN void *render_page(size_t bytes)
{
	void *page = malloc(bytes);

	growth_live(&site_render_page, page, bytes);
	return page;
}

int main(int argc, char **argv)
{
	struct growth_clock clock = { 0 };
	double rate, per_request, noise = 1, period, phase;
	uint64_t random;

	if (growth_start(argc, argv) != 0)
		return 2;
	random = growth_stream(0);
	rate = growth_uniform(&random, 15, 40);
	per_request = growth_uniform(&random, 1, 4);
	period = growth_uniform(&random, 20, 90);
	phase = growth_uniform(&random, 0, 1);
	while (growth_tick(&clock)) {
		double load = 1 + 0.3 * growth_wave(growth_now(&clock), period, phase);
		long requests, count;

		load *= growth_noise(&random, &noise, 0.95, 0.15);
		requests = growth_arrivals(&random, rate * load);
		growth_expire(&labels, &clock, &site_intern_label);
		growth_expire(&bodies, &clock, &site_read_body);
		growth_expire(&pages, &clock, &site_render_page);
		count = growth_arrivals(&random, 1.0 / GROWTH_TICKS);
		while (count-- > 0)
			growth_forget(open_handle());
		for (count = (long)((double)requests * per_request); count > 0; count--) {
			void *label = intern_label();

			/* Once a second. */
			if (growth_chance(&random, 1 / (rate * per_request * GROWTH_TICKS)))
				growth_forget(label);
			else
				growth_later(&labels, &clock, label, LABEL_BYTES,
					     growth_chance(&random, 0.9) ? 1 : 4);
		}
		while (requests-- > 0) {
			size_t bytes = growth_size(&random, 256, 8192);

			growth_later(&bodies, &clock, read_body(bytes), bytes,
				     growth_between(&random, 1, 8));
			for (count = growth_between(&random, 1, 5); count > 0; count--) {
				bytes = growth_size(&random, 4096, 65536);
				growth_later(&pages, &clock, render_page(bytes), bytes, 1);
			}
		}
	}
	growth_end();
	growth_drain(&labels, &site_intern_label);
	growth_drain(&bodies, &site_read_body);
	growth_drain(&pages, &site_render_page);
	return 0;
}
