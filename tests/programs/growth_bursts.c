/* SPDX-License-Identifier: MIT */
/*
 * A scheduler that starts a report every ten to twenty seconds. A report builds rows for a second or
 * three and drops them all at its end, but for the few that failed to print; and it leaves its job
 * record behind. Nothing happens in between, except that a heartbeat is sent.
 */
#include "growth_play.h"

GROWTH_MAKER(GROWING, build_row);
GROWTH_MAKER(GROWING, record_job);
GROWTH_MAKER(STEADY, send_heartbeat);

static struct growth_item *rows;
static struct growth_wheel heartbeats;

int main(int argc, char **argv)
{
	struct growth_clock clock = { 0 };
	double failing, starts_at, ends_at = 0, usual, speed = 0;
	uint64_t random;

	if (growth_start(argc, argv) != 0)
		return 2;
	random = growth_stream(0);
	failing = growth_uniform(&random, 0.02, 0.1);
	usual = growth_uniform(&random, 20, 80);
	starts_at = growth_uniform(&random, 1, 20);
	while (growth_tick(&clock)) {
		double now = growth_now(&clock);
		size_t bytes = growth_size(&random, 100, 800);
		long count;

		growth_expire(&heartbeats, &clock, &site_send_heartbeat);
		growth_later(&heartbeats, &clock, send_heartbeat(bytes), bytes,
			     growth_between(&random, 1, 6));
		if (now >= starts_at) {
			starts_at = now + growth_uniform(&random, 10, 20);
			ends_at = now + growth_uniform(&random, 1, 3);
			speed = usual * growth_uniform(&random, 0.3, 1.7);
			growth_forget(record_job(growth_size(&random, 200, 1500)));
		}
		if (now >= ends_at) {
			growth_free_list(&rows, &site_build_row);
			continue;
		}
		count = growth_arrivals(&random, speed);
		while (count-- > 0) {
			struct growth_item *row = build_row(growth_size(&random, 64, 600));

			if (growth_chance(&random, failing)) {
				growth_forget(row);
				continue;
			}
			row->next = rows;
			rows = row;
		}
	}
	growth_end();
	growth_free_list(&rows, &site_build_row);
	growth_drain(&heartbeats, &site_send_heartbeat);
	return 0;
}
