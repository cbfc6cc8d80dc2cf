/* SPDX-License-Identifier: MIT */
/*
 * A service with days and nights: hardly a request at night, spikes by day. What it leaks goes with
 * the requests: one note for each in a list, and one tracing span in eight that is never finished.
 */
#include "growth_play.h"

GROWTH_SITE(GROWING, note_access);
GROWTH_SITE(GROWING, begin_span);
GROWTH_SITE(STEADY, fetch_rows);

static struct growth_item *notes;
static struct growth_wheel spans, rows;

static GROWTH_FN void note_access(size_t bytes)
{
	struct growth_item *note = malloc(bytes);

	growth_live(&site_note_access, note, bytes);
	note->bytes = bytes;
	note->next = notes;
	notes = note;
}

static GROWTH_FN void *begin_span(size_t bytes)
{
	void *span = calloc(1, bytes);

	growth_live(&site_begin_span, span, bytes);
	return span;
}

static GROWTH_FN void *fetch_rows(size_t bytes)
{
	void *result = malloc(bytes);

	growth_live(&site_fetch_rows, result, bytes);
	return result;
}

int main(int argc, char **argv)
{
	struct growth_clock clock = { 0 };
	double rate, day, phase, noise = 1, spike_at, spike = 1;
	uint64_t random;

	if (growth_start(argc, argv) != 0)
		return 2;
	random = growth_stream(0);
	rate = growth_uniform(&random, 2, 8);
	day = growth_uniform(&random, 30, 75);
	phase = growth_uniform(&random, 0, 1);
	spike_at = growth_uniform(&random, 5, 40);
	while (growth_tick(&clock)) {
		double now = growth_now(&clock), sun = growth_wave(now, day, phase);
		double load = sun > 0 ? sun : 0.01;
		long requests;

		growth_expire(&spans, &clock, &site_begin_span);
		growth_expire(&rows, &clock, &site_fetch_rows);
		if (now >= spike_at) {
			spike = growth_uniform(&random, 2, 6);
			spike_at = now + growth_uniform(&random, 10, 60);
		}
		spike = 1 + (spike - 1) * 0.96;
		load *= spike * growth_noise(&random, &noise, 0.95, 0.15);
		requests = growth_arrivals(&random, rate * load);
		while (requests-- > 0) {
			size_t bytes = growth_size(&random, 128, 512);
			void *span = begin_span(bytes);

			if (growth_chance(&random, 0.125))
				growth_forget(span);
			else
				growth_later(&spans, &clock, span, bytes,
					     growth_between(&random, 1, 20));
			note_access(growth_size(&random, 32, 128));
			bytes = growth_size(&random, 512, 32768);
			growth_later(&rows, &clock, fetch_rows(bytes), bytes,
				     growth_between(&random, 1, 10));
		}
	}
	growth_end();
	growth_drain(&spans, &site_begin_span);
	growth_drain(&rows, &site_fetch_rows);
	growth_free_list(&notes, &site_note_access);
	return 0;
}
