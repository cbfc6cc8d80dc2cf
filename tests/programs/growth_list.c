/* SPDX-License-Identifier: MIT */
/*
 * An API server that keeps its audit trail in memory: each request that changes something appends
 * an entry to a list that nobody ever trims, and which is freed in good order when it ends.
 * Requests come with noise; their bodies are freed when they are answered.
 */
#include "growth_play.h"

GROWTH_SITE(GROWING, append_audit);
GROWTH_MAKER(STEADY, read_body);

static struct growth_item *trail;
static struct growth_wheel bodies;

static GROWTH_FN void append_audit(size_t bytes)
{
	struct growth_item *entry = malloc(bytes);

	growth_live(&site_append_audit, entry, bytes);
	entry->bytes = bytes;
	entry->next = trail;
	trail = entry;
}

int main(int argc, char **argv)
{
	struct growth_clock clock = { 0 };
	double rate, writes, noise = 1;
	uint64_t random;

	if (growth_start(argc, argv) != 0)
		return 2;
	random = growth_stream(0);
	rate = growth_uniform(&random, 4, 15);
	writes = growth_uniform(&random, 0.1, 0.6);
	while (growth_tick(&clock)) {
		double load = rate * growth_noise(&random, &noise, 0.98, 0.12);
		long requests = growth_arrivals(&random, load);

		growth_expire(&bodies, &clock, &site_read_body);
		while (requests-- > 0) {
			size_t bytes = growth_size(&random, 256, 16384);

			growth_later(&bodies, &clock, read_body(bytes), bytes,
				     growth_between(&random, 1, 30));
			if (growth_chance(&random, writes))
				append_audit(growth_size(&random, 48, 400));
		}
	}
	growth_end();
	growth_drain(&bodies, &site_read_body);
	growth_free_list(&trail, &site_append_audit);
	return 0;
}
