// SPDX-License-Identifier: MIT
// build: -pthread -std=c++17
/*
 * C++ that a tool attaches to: threads that come and go, with destructors of their own variables
 * that free, exceptions that pass through operator new and through frames that were there before
 * the tool. Kept since "begin" is what "round" says. Talks as attach_talk.h says.
 */
#include <atomic>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "attach_talk.h"

static std::atomic<unsigned long long> thrown, threads, destroyed;

struct Held {
	std::vector<std::unique_ptr<std::string>> texts;

	~Held()
	{
		for (const auto &text : texts)
			EXPECT(*text == std::string(100, 'h'));
		destroyed++;
	}
};

static thread_local Held held;

/* More than there is: malloc fails inside of operator new, which throws. */
SITE static void ask_too_much(int depth)
{
	std::string on_the_way(50, 'w');

	if (depth > 0) {
		ask_too_much(depth - 1);
		return;
	}
	void *volatile block = ::operator new(truth_hide(SIZE_MAX / 2));
	EXPECT(block == nullptr);
}

SITE static void throw_text(int depth)
{
	auto on_the_way = std::make_unique<int>(depth);

	if (depth > 0)
		throw_text(depth - 1);
	throw std::runtime_error("thrown at depth " + std::to_string(depth) + std::string(40, '.'));
}

static void throw_and_catch()
{
	try {
		ask_too_much(5);
		EXPECT(!"bad_alloc is thrown");
	} catch (const std::bad_alloc &) {
		thrown++;
	}
	try {
		throw_text(5);
		EXPECT(!"it is thrown");
	} catch (const std::runtime_error &error) {
		EXPECT(std::string(error.what()).rfind("thrown at depth 0", 0) == 0);
		thrown++;
	}
	EXPECT(::operator new(truth_hide(SIZE_MAX / 2), std::nothrow) == nullptr);
}

static void short_thread()
{
	for (int i = 0; i < 50; i++)
		held.texts.push_back(std::make_unique<std::string>(100, 'h'));
	for (int i = 0; i < 20; i++)
		throw_and_catch();
	threads++;
}

static void make_threads()
{
	while (!talk_ended) {
		std::thread one(short_thread), two(short_thread);
		one.join();
		two.join();
	}
}

TRUTH_SITE(kept_new);
TRUTH_SITE(kept_array);

extern "C" SITE char *kept_new()
{
	truth_alloced(&site_kept_new, 60);
	return static_cast<char *>(::operator new(60));
}

extern "C" SITE char *kept_array()
{
	truth_alloced(&site_kept_array, 70);
	return new char[70];
}

static void run_round()
{
	static std::vector<char *> blocks;

	for (int i = 0; i < 30; i++) {
		blocks.push_back(kept_new());
		blocks.push_back(kept_array());
	}
	throw_and_catch();
	truth_print();
}

int main()
{
	const char *line;
	std::thread maker(make_threads);

	talk_ready();
	while ((line = talk_line(1000))) {
		if (strcmp(line, "begin") == 0)
			truth_reset();
		else if (strcmp(line, "round") == 0)
			run_round();
		if (*line)
			talk_answer();
	}
	maker.join();
	EXPECT(destroyed == threads && thrown >= 40 * threads);
	truth_line("note threads=%llu thrown=%llu\n", threads.load(), thrown.load());
	return talk_end();
}
