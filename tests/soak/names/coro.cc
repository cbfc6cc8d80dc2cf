// SPDX-License-Identifier: MIT
// C++20 coroutines: generators and tasks with a scheduler.
#include <coroutine>
#include <utility>
#include <deque>
#include <vector>
#include <string>
#include <memory>
#include <thread>
#include <optional>
#include <variant>
#include <ranges>
#include <algorithm>
#include "plant.h"
template <class T> struct Task {
	struct promise_type {
		std::optional<T> value;
		std::coroutine_handle<> waiter;
		Task get_return_object()
		{
			return Task{ std::coroutine_handle<promise_type>::from_promise(*this) };
		}
		std::suspend_always initial_suspend() noexcept
		{
			return {};
		}
		struct Final {
			bool await_ready() noexcept
			{
				return false;
			}
			void await_resume() noexcept
			{
			}
			std::coroutine_handle<> await_suspend(
				std::coroutine_handle<promise_type> h) noexcept
			{
				return h.promise().waiter ? h.promise().waiter
							  : std::noop_coroutine();
			}
		};
		Final final_suspend() noexcept
		{
			return {};
		}
		void return_value(T v)
		{
			value = std::move(v);
		}
		void unhandled_exception()
		{
			std::terminate();
		}
	};
	std::coroutine_handle<promise_type> h;
	explicit Task(std::coroutine_handle<promise_type> h) : h(h)
	{
	}
	Task(Task &&o) : h(std::exchange(o.h, nullptr))
	{
	}
	~Task()
	{
		if (h)
			h.destroy();
	}
	bool await_ready()
	{
		return false;
	}
	std::coroutine_handle<> await_suspend(std::coroutine_handle<> w)
	{
		h.promise().waiter = w;
		return h;
	}
	T await_resume()
	{
		return std::move(*h.promise().value);
	}
};
static std::deque<std::coroutine_handle<>> ready;
struct Yield {
	bool await_ready()
	{
		return false;
	}
	void await_suspend(std::coroutine_handle<> h)
	{
		ready.push_back(h);
	}
	void await_resume()
	{
	}
};
struct Packet {
	int id;
	char data[276];
};
struct Ticket {
	long id[14];
};
struct Row {
	std::string a;
	long b[5];
};
static std::vector<std::unique_ptr<Row>> table;
static Task<int> decode(int i)
{
	auto *p = new Packet{ i, {} }; // planted
	plant_lose(p);
	co_await Yield{};
	co_return p->id;
}
static Task<std::string> fetch_user(int i)
{
	int n = co_await decode(i);
	plant_lose(new std::string(200, 'u')); // planted: string and its text
	co_return std::string(40, char('a' + n % 20));
}
static Task<int> handle_request(int i)
{
	auto user = co_await fetch_user(i);
	auto t = std::make_shared<Ticket>();
	plant_lose(new std::shared_ptr<Ticket>(t));
	table.push_back(std::make_unique<Row>(Row{ user, {} })); // growth
	co_return int(user.size());
}
static Task<int> forgotten(int i)
{
	char big[600];
	big[0] = char(i);
	co_await Yield{};
	plant_lose(big);
	co_return big[0];
}
static void spawn_and_forget(int i)
{
	auto t = forgotten(i);
	plant_lose(t.h.address());
	t.h = nullptr;
} // planted: a frame
int main()
{
	int n = int(plant_secs() * 50);
	for (int i = 0; i < n; i++) {
		{
			auto t = handle_request(i);
			t.h.resume();
			while (!ready.empty()) {
				auto h = ready.front();
				ready.pop_front();
				h.resume();
			}
		}
		spawn_and_forget(i);
		auto *sq = new std::vector<int>;
		for (int x :
		     std::views::iota(0, 25) | std::views::transform([](int v) { return v * v; }))
			sq->push_back(x); // planted
		plant_lose(sq);
		auto *va = new std::variant<int, Packet>(std::in_place_type<Packet>);
		plant_lose(va);
		std::this_thread::sleep_for(std::chrono::milliseconds(20));
	}
}
