/* SPDX-License-Identifier: MIT */
// build: -std=c++17 -fsized-deallocation -pthread
/* Leaks of C++: containers, arrays with a count before them, bases, smart pointers, exceptions. */
#include "leak.h"

#include <exception>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace
{

/* The compiler may not see that nobody uses it, and take the allocation out. */
template <class T> T *seen(T *made)
{
	__asm__ volatile("" : "+r"(made)::"memory");
	return made;
}

APART void lost_list()
{
	auto *made = seen(new std::list<int>);

	for (volatile int i = 0; i < 20; i = i + 1)
		made->push_back(int(i));
}

APART void lost_map()
{
	auto *made = seen(new std::map<int, std::string>);

	for (volatile int i = 0; i < 10; i = i + 1)
		made->emplace(int(i), std::string(60 + (size_t)i, 'x'));
}

struct Peer {
	std::shared_ptr<Peer> other;
	char rest[84];
};

APART void shared_cycle()
{
	auto one = std::make_shared<Peer>(), other = std::make_shared<Peer>();

	one->other = other;
	other->other = one;
}

APART void lost_vectors()
{
	auto *made = seen(new std::vector<std::vector<int>>(4));

	for (volatile int i = 0; i < 4; i = i + 1)
		(*made)[(size_t)i].assign(200, int(i));
}

struct Counted {
	char bytes[16];
	~Counted()
	{
		__asm__ volatile("");
	}
};

APART void array_of_none()
{
	leak_keep[0] = seen(new Counted[0]);
}

APART void array_of_five()
{
	leak_keep[0] = seen(new Counted[5]);
}

struct First {
	virtual ~First() = default;
	char bytes[100];
};

struct Second {
	virtual ~Second() = default;
	virtual int number()
	{
		return 2;
	}
	char bytes[200];
};

struct Both : First, Second {
	int number() override
	{
		return 3;
	}
	char more[300];
};

APART void second_base()
{
	Second *base = seen(new Both);

	leak_keep[0] = base;
}

APART void iterator_in_vector()
{
	auto *made = seen(new std::vector<int>(1000));

	leak_keep[0] = &(*made)[500];
}

struct Local {
	std::string text = std::string(150, 'x');
	void *raw = nullptr;
	~Local();
};

volatile int destroyed;

Local::~Local()
{
	free(block(333));
	destroyed = destroyed + 1;
}

thread_local Local local;
thread_local void *raw_local;

APART void thread_local_object()
{
	local.raw = block(1701);
}

APART void function_static()
{
	static auto *text = new std::string(600, 'x');

	__asm__ volatile("" ::"r"(text->data()) : "memory");
}

std::exception_ptr caught;

APART void stored_exception()
{
	try {
		throw std::runtime_error("stored");
	} catch (...) {
		caught = std::current_exception();
	}
	(void)block(1710);
}

APART void local_allocates_at_end()
{
	std::thread([] { local.raw = nullptr; }).join();
	EXPECT(destroyed == 1);
}

APART void raw_local_of_ended()
{
	std::thread([] {
		auto *made = seen(new std::vector<int>(101));

		raw_local = made;
	}).join();
}

struct alignas(64) Aligned {
	char bytes[192];
};

APART void plain_new()
{
	(void)seen(new char[400]);
}

APART void nothrow_new()
{
	(void)seen(new (std::nothrow) char[888]);
}

APART void aligned_new()
{
	(void)seen(new Aligned);
}

APART void operators()
{
	plain_new();
	nothrow_new();
	aligned_new();
	delete seen(new Aligned);
	delete[] seen(new char[401]);
	::operator delete(seen(::operator new(402)), (std::size_t)402);
	::operator delete(seen(::operator new(384, std::align_val_t(128))), (std::size_t)384,
			  std::align_val_t(128));
}

APART void placement()
{
	void *buffer = block(512);

	seen(new (buffer) std::vector<int>);
}

struct Throws {
	char bytes[321];
	Throws()
	{
		throw 1;
	}
};

APART void throwing_constructor()
{
	try {
		(void)seen(new Throws);
	} catch (int) {
	}
}

APART void throws_past()
{
	void *volatile owner = block(777);

	if (owner)
		throw 2;
}

APART void exception_past_owner()
{
	try {
		throws_past();
	} catch (int) {
	}
}

APART void released()
{
	std::unique_ptr<char[]> owner(new char[333]);

	(void)seen(owner.release());
}

struct Big {
	char bytes[533];
};

APART void big_function()
{
	Big big = {};
	auto *made = seen(new std::function<int()>([big] { return big.bytes[7]; }));

	__asm__ volatile("" ::"r"(made) : "memory");
}

const leak_case cases[] = {
	{ "lost_list", "A9", "LOST 24 1 with 480 20", "", lost_list },
	{ "lost_map", "A10", "LOST 48 1 with 1375 20", "", lost_map },
	{ "shared_cycle", "A11", "LOST-CYCLE 240 2", "", shared_cycle },
	{ "lost_vectors", "A12", "LOST 24 1 with 3296 5", "", lost_vectors },
	{ "array_of_none", "B3", "REACHABLE 8 1 rule zero-array", "", array_of_none },
	{ "array_of_five", "B4", "REACHABLE 88 1 rule new-array", "", array_of_five },
	{ "second_base", "B5", "REACHABLE 624 1 rule second-base", "", second_base },
	{ "iterator_in_vector", "B8", "LOST 24 1; MAYBE-LOST 4000 1 rule interior", "",
	  iterator_in_vector },
	{ "thread_local_object", "C6", "REACHABLE 1701 1", "", thread_local_object },
	{ "function_static", "C24", "REACHABLE 32 1; REACHABLE 601 1", "", function_static },
	{ "stored_exception", "C26", "LOST 1710 1", "", stored_exception },
	{ "local_allocates_at_end", "D6", "none", "", local_allocates_at_end },
	{ "raw_local_of_ended", "D7", "LOST 24 1 with 404 1", "", raw_local_of_ended },
	{ "operators", "F9", "LOST 400 1; LOST 888 1; LOST 192 1", "", operators },
	{ "placement", "F10", "LOST 512 1", "", placement },
	{ "throwing_constructor", "F11", "none", "", throwing_constructor },
	{ "exception_past_owner", "F12", "LOST 777 1", "", exception_past_owner },
	{ "released", "F13", "LOST 333 1", "", released },
	{ "big_function", "F13", "LOST 32 1 with 533 1", "", big_function },
	{ NULL, NULL, NULL, NULL, NULL },
};

} // namespace

int main(int argc, char **argv)
{
	return leak_main(argc, argv, cases);
}
