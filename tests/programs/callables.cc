/* SPDX-License-Identifier: MIT */
// build: -O2 -g -pthread
/*
 * Jobs of a thread pool that keep what they allocate: lambdas, and a class with an operator().
 * Optimised, they become part of the library's function that calls them. And blocks of two types
 * from one line.
 */
#include <cstring>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

namespace
{

void *volatile kept[10];
int kept_count;

inline __attribute__((always_inline)) void keep(size_t bytes)
{
	void *block = ::operator new(bytes);

	std::memset(block, 1, bytes);
	kept[kept_count++] = block;
}

struct Indexer {
	void operator()() const
	{
		keep(3000);
	}
};

struct Conn {
	char bytes[4000];
};

struct Invoice {
	char bytes[5000];
};

auto &conns = *new std::vector<std::shared_ptr<Conn>>;
auto &invoices = *new std::vector<std::shared_ptr<Invoice>>;

__attribute__((noinline)) void run_all(const std::vector<std::function<void()>> &jobs)
{
	for (const auto &job : jobs)
		job();
}

__attribute__((noinline)) void serve()
{
	conns.push_back(std::make_shared<Conn>()), invoices.push_back(std::make_shared<Invoice>());
}

} // namespace

int main()
{
	std::vector<std::function<void()>> jobs;

	conns.reserve(10);
	invoices.reserve(10);
	jobs.emplace_back([] { keep(1000); });
	jobs.emplace_back([] { keep(2000); });
	jobs.emplace_back(Indexer());
	std::thread([&jobs] { run_all(jobs); }).join();
	std::thread([] { keep(6000); }).join();
	serve();
	return 0;
}
