// SPDX-License-Identifier: MIT
// Thread pool with std::function, packaged_task, futures, make_shared, an object pool.
#include <thread>
#include <mutex>
#include <condition_variable>
#include <queue>
#include <functional>
#include <future>
#include <memory>
#include <vector>
#include <unordered_map>
#include <map>
#include <string>
#include <atomic>
#include "plant.h"
class ThreadPool
{
      public:
	explicit ThreadPool(int n)
	{
		for (int i = 0; i < n; i++)
			workers.emplace_back([this] { work(); });
	}
	~ThreadPool()
	{
		{
			std::lock_guard<std::mutex> l(m);
			done = true;
		}
		cv.notify_all();
		for (auto &w : workers)
			w.join();
	}
	template <class F> auto submit(F f) -> std::future<decltype(f())>
	{
		auto task = std::make_shared<std::packaged_task<decltype(f())()>>(std::move(f));
		auto res = task->get_future();
		post([task] { (*task)(); });
		return res;
	}
	void post(std::function<void()> f)
	{
		{
			std::lock_guard<std::mutex> l(m);
			q.push(std::move(f));
		}
		cv.notify_one();
	}

      private:
	void work()
	{
		for (;;) {
			std::function<void()> f;
			{
				std::unique_lock<std::mutex> l(m);
				cv.wait(l, [this] { return done || !q.empty(); });
				if (done && q.empty())
					return;
				f = std::move(q.front());
				q.pop();
			}
			f();
		}
	}
	std::mutex m;
	std::condition_variable cv;
	std::queue<std::function<void()>> q;
	std::vector<std::thread> workers;
	bool done = false;
};
struct Conn {
	int fd;
	char buf[188];
	std::string peer;
};
struct Invoice {
	long id;
	double amount[11];
};
struct Order {
	long id;
	char what[40];
	std::shared_ptr<Order> next;
};
struct Reading {
	double v[9];
};
struct Picture {
	unsigned char px[512];
};
template <class T> class Pool
{
      public:
	T *take()
	{
		if (free_.empty())
			return new T();
		T *t = free_.back();
		free_.pop_back();
		return t;
	}
	void give(T *t)
	{
		free_.push_back(t);
	}

      private:
	std::vector<T *> free_;
};
static std::mutex big;
static Pool<Invoice> invoices;
static Pool<Reading> readings;
static std::unordered_map<int, std::vector<Picture>> gallery;
static void handle_conn(int i)
{
	auto *keep = new std::shared_ptr<Conn>(
		std::make_shared<Conn>(Conn{ i, {}, std::string(70, 'p') }));
	plant_lose(keep);
}
static void make_cycle()
{
	auto a = std::make_shared<Order>(), b = std::make_shared<Order>();
	a->next = b;
	b->next = a;
}
class Indexer
{
      public:
	explicit Indexer(int n) : n(n)
	{
	}
	void operator()()
	{
		auto *v = new std::vector<int>(n);
		plant_lose(v);
	}

      private:
	int n;
};
struct Shape {
	virtual ~Shape()
	{
	}
	virtual Shape *clone() const = 0;
};
struct Circle : Shape {
	double r[6];
	Shape *clone() const override
	{
		return new Circle(*this);
	}
};
struct Square : Shape {
	double r[13];
	Shape *clone() const override
	{
		return new Square(*this);
	}
};
int main()
{
	std::atomic<int> running{ 1 };
	std::thread other([&] {
		while (running) {
			plant_lose(new char[333]);
			std::this_thread::sleep_for(std::chrono::milliseconds(50));
		}
	});
	{
		ThreadPool pool(3);
		int n = int(plant_secs() * 20);
		Circle c;
		Square s;
		const Shape *shapes[] = { &c, &s };
		for (int i = 0; i < n; i++) {
			pool.post([i] { handle_conn(i); });
			pool.post([] {
				std::lock_guard<std::mutex> l(big);
				plant_lose(invoices.take());
				plant_lose(readings.take());
			});
			pool.post([i] {
				std::lock_guard<std::mutex> l(big);
				gallery[i % 5].emplace_back();
			}); // growth
			pool.post([] { make_cycle(); });
			pool.post([] { plant_lose(new double[37]); });
			pool.post([] { plant_lose(new double[41]); });
			pool.post(Indexer(97));
			auto f = pool.submit([i] { return std::make_unique<Picture>().release(); });
			plant_lose(f.get());
			plant_lose(shapes[i % 2]->clone());
			auto g = std::async(std::launch::async, [i] {
				return new std::map<int, Reading>{ { i, {} } };
			});
			plant_lose(g.get());
			std::this_thread::sleep_for(std::chrono::milliseconds(50));
		}
	}
	running = 0;
	other.join();
}
