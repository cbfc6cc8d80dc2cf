/* SPDX-License-Identifier: MIT */
/*
 * A registry of metrics. Counters by route and status are all known soon. But somebody labelled
 * others with the customer's number, so that each new customer adds a series, and a histogram once
 * a latency is known. A scraper fetches everything a page at a time, every now and then.
 */
#include "growth_play.h"

enum { ROUTES = 60, STATUSES = 3, PAGE = 8192 };

GROWTH_SITE(STEADY, count_route);
GROWTH_SITE(GROWING, add_series);
GROWTH_SITE(GROWING, make_histogram);
GROWTH_SITE(STEADY, render_page);

static struct growth_item *routes[ROUTES][STATUSES];
static struct growth_item *series, *histograms;
static struct growth_wheel pages;

static GROWTH_FN void *count_route(size_t bytes)
{
	void *counter = calloc(1, bytes);

	growth_live(&site_count_route, counter, bytes);
	return counter;
}

static GROWTH_FN void add_series(size_t bytes)
{
	struct growth_item *one = malloc(bytes);

	growth_live(&site_add_series, one, bytes);
	one->bytes = bytes;
	one->next = series;
	series = one;
}

static GROWTH_FN void make_histogram(size_t bytes)
{
	struct growth_item *one = calloc(bytes / 8, 8);

	growth_live(&site_make_histogram, one, bytes);
	one->bytes = bytes;
	one->next = histograms;
	histograms = one;
}

static GROWTH_FN void *render_page(size_t bytes)
{
	void *page = malloc(bytes);

	growth_live(&site_render_page, page, bytes);
	return page;
}

/* Some routes are asked for much more often than others. */
static void answer(uint64_t *random, long route_count)
{
	double pick = growth_uniform(random, 0, 1), status = growth_uniform(random, 0, 1);
	long route = (long)(pick * (0.33 + 0.67 * pick) * (double)route_count);
	struct growth_item **counter = &routes[route][status < 0.8 ? 0 : status < 0.9 ? 1 : 2];

	if (!*counter) {
		size_t bytes = (size_t)growth_between(random, 180, 300);

		*counter = count_route(bytes);
		(*counter)->bytes = bytes;
	}
}

int main(int argc, char **argv)
{
	struct growth_clock clock = { 0 };
	double rate, customers, scrape_every, scrape_at, noise = 1, latency;
	long route_count, i, k, page_count;
	uint64_t random;

	if (growth_start(argc, argv) != 0)
		return 2;
	random = growth_stream(0);
	rate = growth_uniform(&random, 6, 15);
	route_count = growth_between(&random, 20, ROUTES);
	customers = growth_uniform(&random, 0.1, 1);
	latency = growth_uniform(&random, 0.3, 0.8);
	scrape_every = growth_uniform(&random, 10, 20);
	scrape_at = growth_uniform(&random, 1, 15);
	page_count = growth_between(&random, 2, 8);
	while (growth_tick(&clock)) {
		double now = growth_now(&clock), load;
		long requests, fresh;

		growth_expire(&pages, &clock, &site_render_page);
		load = growth_noise(&random, &noise, 0.97, 0.12);
		requests = growth_arrivals(&random, rate * load);
		while (requests-- > 0)
			answer(&random, route_count);
		fresh = growth_arrivals(&random, customers * load);
		while (fresh-- > 0) {
			add_series((size_t)growth_between(&random, 200, 420));
			if (growth_chance(&random, latency))
				make_histogram(14 * 8);
		}
		if (now >= scrape_at) {
			for (i = 0; i < page_count; i++)
				growth_later(&pages, &clock, render_page(PAGE), PAGE,
					     growth_between(&random, 2, 30));
			scrape_at += scrape_every;
		}
	}
	growth_end();
	growth_drain(&pages, &site_render_page);
	growth_free_list(&histograms, &site_make_histogram);
	growth_free_list(&series, &site_add_series);
	for (i = 0; i < ROUTES; i++)
		for (k = 0; k < STATUSES; k++)
			free(routes[i][k]);
	return 0;
}
