/* SPDX-License-Identifier: MIT */
/*
 * A rate limiter. Buckets by address are swept when they have been idle, some twice a minute; the
 * sweep of the buckets by API key was forgotten. The names of user agents are interned: with time
 * fewer are new, but clients send ever new ones. Requests over the limit wait a little.
 */
#include <map>
#include <set>

#include "growth_alloc.h"

GROWTH_SITE(STEADY, take_from_address);
GROWTH_SITE(GROWING, take_from_key);
GROWTH_SITE(GROWING, intern_agent);
GROWTH_SITE(STEADY, delay_request);

namespace
{

struct bucket {
	double tokens;
	long used;
};

template <growth_site *site>
using bucket_map = std::map<uint64_t, bucket, std::less<uint64_t>,
			    growth_alloc<std::pair<const uint64_t, bucket>, site>>;
typedef growth_string<&site_intern_agent> agent;
typedef std::set<agent, std::less<agent>, growth_alloc<agent, &site_intern_agent>> agent_set;
typedef bucket_map<&site_take_from_address> address_map;
typedef bucket_map<&site_take_from_key> key_map;

growth_wheel delayed;

GROWTH_FN void take_from_address(address_map &buckets, uint64_t address, long tick)
{
	bucket &one = buckets[address];

	one.tokens -= 1;
	one.used = tick;
}

GROWTH_FN void take_from_key(key_map &buckets, uint64_t key, long tick)
{
	bucket &one = buckets[key];

	one.tokens -= 1;
	one.used = tick;
}

GROWTH_FN void intern_agent(agent_set &agents, uint64_t *random)
{
	agent name(static_cast<size_t>(growth_between(random, 30, 150)), 'a');

	for (char &c : name)
		c = static_cast<char>(growth_between(random, 'a', 'z'));
	agents.insert(std::move(name));
}

GROWTH_FN void *delay_request(size_t bytes)
{
	void *request = ::operator new(bytes);

	growth_live(&site_delay_request, request, bytes);
	return request;
}

void sweep(address_map &buckets, long before)
{
	for (auto one = buckets.begin(); one != buckets.end();) {
		if (one->second.used < before)
			one = buckets.erase(one);
		else
			++one;
	}
}

} // namespace

int main(int argc, char **argv)
{
	growth_clock clock = { 0 };
	address_map addresses;
	key_map keys;
	agent_set agents;

	if (growth_start(argc, argv) != 0)
		return 2;
	uint64_t random = growth_stream(0);
	double rate = growth_uniform(&random, 2, 8),
	       fresh_keys = growth_uniform(&random, 0.03, 0.2);
	double known = growth_uniform(&random, 80, 300), noise = 1;
	double sweep_every = growth_uniform(&random, 20, 35);
	double sweep_at = growth_uniform(&random, 5, 30);
	double abuse_at = growth_uniform(&random, 10, 60), abuse_until = 0;
	uint64_t users = static_cast<uint64_t>(growth_between(&random, 300, 2000));

	while (growth_tick(&clock)) {
		double now = growth_now(&clock);
		double load = growth_noise(&random, &noise, 0.97, 0.12);
		long requests = growth_arrivals(&random, rate * load);

		/* delay_request() is the only user of the wheel: what it frees came from new */
		for (growth_item *&due = delayed.due[clock.tick % GROWTH_WHEEL]; due;) {
			growth_item *item = due;

			due = item->next;
			growth_gone(&site_delay_request, item->bytes);
			::operator delete(item);
		}
		if (now >= abuse_at) {
			abuse_until = now + growth_uniform(&random, 2, 10);
			abuse_at = now + growth_uniform(&random, 25, 80);
		}
		while (requests-- > 0) {
			double seen = static_cast<double>(agents.size());
			uint64_t high = growth_random(&random);

			take_from_address(addresses, high % users, clock.tick);
			if (growth_chance(&random, fresh_keys))
				take_from_key(keys, high << 32 | growth_random(&random),
					      clock.tick);
			if (growth_chance(&random, known / (seen + known)))
				intern_agent(agents, &random);
			if (growth_chance(&random, now < abuse_until ? 0.8 : 0.04)) {
				size_t bytes = growth_size(&random, 300, 4000);

				growth_later(&delayed, &clock, delay_request(bytes), bytes,
					     growth_between(&random, 5, 40));
			}
		}
		if (now >= sweep_at) {
			sweep(addresses, clock.tick - growth_ticks(10));
			sweep_at += sweep_every;
		}
	}
	growth_end();
	for (growth_item *&due : delayed.due) {
		while (due) {
			growth_item *item = due;

			due = item->next;
			::operator delete(item);
		}
	}
	return 0;
}
