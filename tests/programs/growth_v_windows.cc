/* SPDX-License-Identifier: MIT */
/*
 * An image service whose days are short. Objects are read through a cache that keeps each for a
 * fixed time, so it swells by day and shrinks by night; the numbers of messages stand in a window
 * against duplicates; and thumbnails of all sizes share a cache of limited bytes, the least
 * recently used going first.
 */
#include <deque>
#include <list>
#include <map>
#include <vector>

#include "growth_alloc.h"

GROWTH_SITE(STEADY, load_object);
GROWTH_SITE(STEADY, remember_id);
GROWTH_SITE(STEADY, make_thumbnail);

namespace
{

typedef std::vector<char, growth_alloc<char, &site_load_object>> object;
typedef std::vector<char, growth_alloc<char, &site_make_thumbnail>> thumbnail;
typedef std::map<uint64_t, long, std::less<uint64_t>,
		 growth_alloc<std::pair<const uint64_t, long>, &site_remember_id>>
	id_map;

struct cached {
	long until;
	object bytes;
};

struct thumbnails {
	std::list<thumbnail> by_use;
	size_t bytes, limit_bytes;
};

GROWTH_FN object load_object(size_t bytes)
{
	return object(bytes, 'o');
}

GROWTH_FN bool remember_id(id_map &ids, uint64_t id, long until)
{
	return ids.emplace(id, until).second;
}

GROWTH_FN thumbnail make_thumbnail(size_t bytes)
{
	return thumbnail(bytes, 't');
}

/* One in the middle that is used again moves to the front. */
void use_again(thumbnails &cache, uint64_t *random)
{
	auto one = cache.by_use.begin();

	if (cache.by_use.empty())
		return;
	std::advance(one, growth_between(random, 0, static_cast<long>(cache.by_use.size()) - 1));
	cache.by_use.splice(cache.by_use.begin(), cache.by_use, one);
}

void add_thumbnail(thumbnails &cache, size_t bytes)
{
	cache.by_use.push_front(make_thumbnail(bytes));
	cache.bytes += bytes;
	while (cache.bytes > cache.limit_bytes) {
		cache.bytes -= cache.by_use.back().size();
		cache.by_use.pop_back();
	}
}

} // namespace

int main(int argc, char **argv)
{
	growth_clock clock = { 0 };
	std::deque<cached> objects;
	id_map ids;
	std::deque<std::pair<long, uint64_t>> id_order;
	thumbnails cache = { {}, 0, 0 };

	if (growth_start(argc, argv) != 0)
		return 2;
	uint64_t random = growth_stream(0);
	double rate = growth_uniform(&random, 1, 5), noise = 1;
	double day = growth_uniform(&random, 40, 100), phase = growth_uniform(&random, 0, 1);
	double misses = growth_uniform(&random, 0.1, 0.4);
	long keep = growth_ticks(growth_uniform(&random, 8, 30));
	long window = growth_ticks(growth_uniform(&random, 20, 60));

	cache.limit_bytes =
		static_cast<size_t>(rate * misses * 10 * 7000 * growth_uniform(&random, 15, 70));
	while (growth_tick(&clock)) {
		double sun = growth_wave(growth_now(&clock), day, phase);
		double load = (1 + 0.8 * sun) * growth_noise(&random, &noise, 0.96, 0.1);
		long requests = growth_arrivals(&random, rate * load);

		while (!objects.empty() && objects.front().until <= clock.tick)
			objects.pop_front();
		while (!id_order.empty() && id_order.front().first <= clock.tick) {
			ids.erase(id_order.front().second);
			id_order.pop_front();
		}
		while (requests-- > 0) {
			uint64_t id = growth_random(&random);

			if (remember_id(ids, id, clock.tick + window))
				id_order.emplace_back(clock.tick + window, id);
			if (growth_chance(&random, 0.5))
				objects.push_back({ clock.tick + keep,
						    load_object(growth_size(&random, 256, 8192)) });
			if (growth_chance(&random, misses))
				add_thumbnail(cache, growth_size(&random, 512, 32768));
			else
				use_again(cache, &random);
		}
	}
	growth_end();
	return 0;
}
