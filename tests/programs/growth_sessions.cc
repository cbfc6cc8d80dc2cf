/* SPDX-License-Identifier: MIT */
/*
 * A web shop whose sessions stand in a std::map by their number. A login adds one, nothing takes it
 * out: the timer that should have was never written. Now and then all clients of a proxy come back
 * at once. Each request parses its headers into strings, which go when it is answered.
 */
#include <deque>
#include <map>
#include <vector>

#include "growth_alloc.h"

GROWTH_SITE(GROWING, remember_session);
GROWTH_SITE(STEADY, parse_headers);

namespace
{

typedef growth_string<&site_remember_session> user_name;
typedef growth_string<&site_parse_headers> header;
typedef std::vector<header, growth_alloc<header, &site_parse_headers>> headers;

struct session {
	uint64_t since;
	user_name user;
};

typedef std::map<uint64_t, session, std::less<uint64_t>,
		 growth_alloc<std::pair<const uint64_t, session>, &site_remember_session>>
	session_map;

struct request {
	long done;
	headers lines;
};

GROWTH_FN void remember_session(session_map &sessions, uint64_t id, uint64_t since, size_t length)
{
	sessions.emplace(id, session{ since, user_name(length, 'u') });
}

GROWTH_FN headers parse_headers(uint64_t *random)
{
	headers lines;
	long count = growth_between(random, 4, 20);

	while (count-- > 0)
		lines.emplace_back(static_cast<size_t>(growth_between(random, 20, 300)), 'h');
	return lines;
}

} // namespace

int main(int argc, char **argv)
{
	growth_clock clock = { 0 };
	session_map sessions;
	std::deque<request> running;

	if (growth_start(argc, argv) != 0)
		return 2;
	uint64_t random = growth_stream(0);
	double rate = growth_uniform(&random, 2, 8), logins = growth_uniform(&random, 0.03, 0.2);
	double noise = 1, storm_at = growth_uniform(&random, 20, 60);

	while (growth_tick(&clock)) {
		long requests = growth_arrivals(&random,
						rate * growth_noise(&random, &noise, 0.97, 0.15));
		long fresh = growth_arrivals(&random, rate * logins * noise);

		while (!running.empty() && running.front().done <= clock.tick)
			running.pop_front();
		while (requests-- > 0)
			running.push_back({ clock.tick + growth_between(&random, 1, 12),
					    parse_headers(&random) });
		if (growth_now(&clock) >= storm_at) {
			fresh += growth_between(&random, 20, 150);
			storm_at += growth_uniform(&random, 25, 90);
		}
		while (fresh-- > 0) {
			uint64_t high = growth_random(&random);

			remember_session(sessions, high << 32 | growth_random(&random),
					 static_cast<uint64_t>(clock.tick),
					 static_cast<size_t>(growth_between(&random, 5, 40)));
		}
	}
	growth_end();
	return 0;
}
