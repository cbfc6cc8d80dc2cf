/* SPDX-License-Identifier: MIT */
/*
 * What is collected and sent in batches. Metrics go every so many seconds, rows when there are
 * enough of them, and the events of eight shards each when its own time comes.
 */
#include "growth_play.h"

enum { SHARDS = 8 };

GROWTH_SITE(STEADY, collect_metric);
GROWTH_SITE(STEADY, collect_row);
GROWTH_SITE(STEADY, collect_event);

static struct growth_item *metrics, *rows, *events[SHARDS];

static GROWTH_FN void collect_metric(size_t bytes)
{
	struct growth_item *metric = malloc(bytes);

	growth_live(&site_collect_metric, metric, bytes);
	metric->bytes = bytes;
	metric->next = metrics;
	metrics = metric;
}

static GROWTH_FN void collect_row(size_t bytes)
{
	struct growth_item *row = malloc(bytes);

	growth_live(&site_collect_row, row, bytes);
	row->bytes = bytes;
	row->next = rows;
	rows = row;
}

static GROWTH_FN void collect_event(struct growth_item **shard, size_t bytes)
{
	struct growth_item *event = malloc(bytes);

	growth_live(&site_collect_event, event, bytes);
	event->bytes = bytes;
	event->next = *shard;
	*shard = event;
}

int main(int argc, char **argv)
{
	struct growth_clock clock = { 0 };
	double rate, noise = 1, every, flush_at, gap[SHARDS], next[SHARDS];
	long enough, row_count = 0, i;
	uint64_t random;

	if (growth_start(argc, argv) != 0)
		return 2;
	random = growth_stream(0);
	rate = growth_uniform(&random, 3, 12);
	every = growth_uniform(&random, 5, 40);
	flush_at = growth_uniform(&random, 0, every);
	enough = (long)(rate * GROWTH_TICKS * growth_uniform(&random, 5, 40));
	for (i = 0; i < SHARDS; i++) {
		gap[i] = growth_uniform(&random, 5, 40);
		next[i] = growth_uniform(&random, 0, gap[i]);
	}
	while (growth_tick(&clock)) {
		double now = growth_now(&clock);
		double load = rate * growth_noise(&random, &noise, 0.97, 0.12);
		long count = growth_arrivals(&random, load);

		while (count-- > 0)
			collect_metric(growth_size(&random, 32, 200));
		if (now >= flush_at) {
			growth_free_list(&metrics, &site_collect_metric);
			flush_at += every * growth_uniform(&random, 0.9, 1.1);
		}
		for (count = growth_arrivals(&random, load); count > 0; count--) {
			collect_row(growth_size(&random, 64, 2048));
			if (++row_count == enough) {
				growth_free_list(&rows, &site_collect_row);
				row_count = 0;
			}
		}
		for (count = growth_arrivals(&random, load); count > 0; count--)
			collect_event(&events[growth_between(&random, 0, SHARDS - 1)],
				      growth_size(&random, 64, 1024));
		for (i = 0; i < SHARDS; i++) {
			if (now < next[i])
				continue;
			growth_free_list(&events[i], &site_collect_event);
			next[i] = now + gap[i] * growth_uniform(&random, 0.9, 1.1);
		}
	}
	growth_end();
	growth_free_list(&metrics, &site_collect_metric);
	growth_free_list(&rows, &site_collect_row);
	for (i = 0; i < SHARDS; i++)
		growth_free_list(&events[i], &site_collect_event);
	return 0;
}
