/* SPDX-License-Identifier: MIT */
/*
 * Two leaks of 16 bytes a second each in a server that allocates megabytes a second. One has a call
 * stack of its own: a handle that nobody closes. The other shares its call stack with thousands of
 * labels that are freed: some path forgets to drop its reference.
 */
#include "growth_play.h"

enum { LABEL_BYTES = 16 };

GROWTH_MAKER(GROWING, open_handle);
GROWTH_MAKER(GROWING, intern_label);
GROWTH_MAKER(STEADY, read_body);
GROWTH_MAKER(STEADY, render_page);

static struct growth_wheel labels, bodies, pages;

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
			growth_forget(open_handle(LABEL_BYTES));
		for (count = (long)((double)requests * per_request); count > 0; count--) {
			void *label = intern_label(LABEL_BYTES);

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
