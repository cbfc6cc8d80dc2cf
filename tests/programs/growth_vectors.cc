/* SPDX-License-Identifier: MIT */
/*
 * A telemetry server that never drops a sample. One array holds the series of the whole machine and
 * is enlarged by doubling: ever larger steps, ever further apart. A std::vector for each of some
 * dozen tenants holds theirs; few of them send most. Queries sort copies.
 */
#include <vector>

#include "growth_alloc.h"

GROWTH_SITE(GROWING, append_sample);
GROWTH_SITE(GROWING, append_event);
GROWTH_MAKER(STEADY, run_query);

namespace
{

struct sample {
	double when, value;
};

struct event {
	uint64_t when;
	uint32_t code, host;
};

typedef std::vector<event, growth_alloc<event, &site_append_event>> event_vector;

sample *series;
size_t series_count, series_room;
growth_wheel queries;

GROWTH_FN void append_sample(double when, double value)
{
	if (series_count == series_room) {
		size_t room = series_room ? series_room * 2 : 64;

		growth_gone(&site_append_sample, series_room * sizeof(*series));
		series = static_cast<sample *>(realloc(series, room * sizeof(*series)));
		growth_live(&site_append_sample, series, room * sizeof(*series));
		series_room = room;
	}
	series[series_count++] = { when, value };
}

GROWTH_FN void append_event(event_vector &events, const event &one)
{
	events.push_back(one);
}

} // namespace

int main(int argc, char **argv)
{
	growth_clock clock = { 0 };

	if (growth_start(argc, argv) != 0)
		return 2;
	uint64_t random = growth_stream(0);
	size_t tenant_count = static_cast<size_t>(growth_between(&random, 12, 60));
	std::vector<event_vector> tenants(tenant_count);
	double samples = growth_uniform(&random, 10, 70), events = growth_uniform(&random, 10, 70);
	double noise = 1;

	while (growth_tick(&clock)) {
		double load = growth_noise(&random, &noise, 0.99, 0.06);
		long count = growth_arrivals(&random, samples * load);

		growth_expire(&queries, &clock, &site_run_query);
		while (count-- > 0)
			append_sample(growth_now(&clock), load);
		count = growth_arrivals(&random, events * load);
		while (count-- > 0) {
			/* The first tenants send most. */
			double pick = growth_uniform(&random, 0, 1);
			size_t tenant = static_cast<size_t>(pick * pick * pick *
							    static_cast<double>(tenant_count));

			append_event(tenants[tenant], { static_cast<uint64_t>(clock.tick), 200,
							growth_random(&random) });
		}
		if (growth_chance(&random, 0.2)) {
			size_t bytes = growth_size(&random, 1024, 65536);

			growth_later(&queries, &clock, run_query(bytes), bytes,
				     growth_between(&random, 1, 25));
		}
	}
	growth_end();
	growth_drain(&queries, &site_run_query);
	free(series);
	return 0;
}
