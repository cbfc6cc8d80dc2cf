/* SPDX-License-Identifier: MIT */
// build: -O2 -pthread
/*
 * What exporters have to carry: inlined calls and templates, recursion, named threads, all kinds of
 * allocation, blocks that live to the end, that the peak had, and that were temporary.
 */
#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <pthread.h>

#define NOINLINE __attribute__((noinline))

namespace shop
{

template <class Item, int Least> struct Shelf {
	std::vector<Item> items;

	void put(Item item)
	{
		if (items.empty())
			items.reserve(Least);
		items.push_back(std::move(item));
	}
};

struct Order {
	std::map<int, std::string> lines;
	Shelf<std::string, 2> notes;
	std::unique_ptr<char[]> seal;

	void add(int number)
	{
		lines[number] = std::string(40 + number, 'x');
		notes.put(std::string(100, 'n'));
	}
};

static std::vector<Order *> kept;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void *volatile raw[8];

NOINLINE static void keep(Order *order)
{
	pthread_mutex_lock(&lock);
	kept.push_back(order);
	pthread_mutex_unlock(&lock);
}

NOINLINE static int order(int lines)
{
	auto made = std::make_unique<Order>();

	for (int i = 0; i < lines; i++)
		made->add(i);
	made->seal.reset(new char[lines * 10 + 1]);
	if (lines % 3 == 0)
		keep(made.release());
	return lines;
}

/* Deeper than the stacks that are folded, by one way and by two in turns. */
NOINLINE static int descend(int depth, int lines);

NOINLINE static int branch(int depth, int lines)
{
	return descend(depth, lines) + 1;
}

NOINLINE static int descend(int depth, int lines)
{
	if (depth == 0)
		return order(lines);
	return (depth % 4 ? descend(depth - 1, lines) : branch(depth - 1, lines)) + 1;
}

struct alignas(64) Line {
	char bytes[192];
};

NOINLINE static void plain()
{
	raw[0] = std::malloc(1000);
	raw[1] = std::calloc(10, 30);
	raw[2] = std::realloc(raw[6] = std::malloc(10), 77);
	raw[3] = ::operator new(128);
	raw[4] = new Line;
	raw[5] = new Line[3];
	std::free(raw[7] = std::malloc(5));
	for (int i = 0; i < 20; i++)
		delete new int(i);
}

NOINLINE static void work(const char *name, int count)
{
	pthread_setname_np(pthread_self(), name);
	for (int i = 1; i <= count; i++)
		descend(i % 7, i);
}

} // namespace shop

int main()
{
	auto peak = std::make_unique<std::vector<char>>(1 << 20);

	shop::plain();
	peak.reset();
	std::thread buyer(shop::work, "buyer", 12);
	std::thread seller(shop::work, "the seller", 9);
	buyer.join();
	seller.join();
	return shop::descend(30, 6) < 0;
}
