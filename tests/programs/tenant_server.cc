/* SPDX-License-Identifier: MIT */
// build: -O2 -g -std=c++17 -pthread
/*
 * A server of several tenants, annotated as its authors would: who reads a connection opens a request's
 * scope, a worker goes on in it. It keeps the last pages of each tenant, and of one it loses some.
 *
 *	tenant_server LEAKY     prints its pid and port
 *	TENANT PATH             is answered by a page
 *	truth                   "TENANT requests held_blocks held_bytes;..." of all that were answered
 *	quit
 */
#include "seep/seep.h"

#include <arpa/inet.h>
#include <condition_variable>
#include <cstdio>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <sstream>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

namespace
{
enum { WORKERS = 3, PAGES_KEPT = 8, PAGE_BYTES = 2000, LOST_BYTES = 700, LOST_EVERY = 4 };

using page = std::unique_ptr<char[]>;

struct tenant {
	unsigned requests = 0, lost = 0;
	page kept[PAGES_KEPT];
};

struct request {
	int connection;
	std::string who, path;
	seep_scope scope;
};

std::string leaky;
std::mutex lock; /* of the two below */
std::map<std::string, tenant> tenants;
std::deque<std::unique_ptr<request>> queue;
std::condition_variable not_empty;

void send_line(int connection, const std::string &text)
{
	const std::string line = text + "\n";

	if (write(connection, line.data(), line.size()) != (ssize_t)line.size())
		std::abort();
}

page render(const request &of)
{
	SEEP_FUNCTION_SCOPE();
	page made(new char[PAGE_BYTES]);

	std::snprintf(made.get(), PAGE_BYTES, "%s of %s", of.path.c_str(), of.who.c_str());
	return made;
}

/* The usual mistake: what was made for the log is forgotten where there is none. */
void write_log(const request &of, unsigned number)
{
	SEEP_SCOPE("log");
	char *entry = new char[LOST_BYTES];

	std::snprintf(entry, LOST_BYTES, "%u %s", number, of.path.c_str());
	if (of.who == leaky && number % LOST_EVERY == 0)
		return;
	delete[] entry;
}

void answer(const request &of)
{
	page made = render(of);
	const std::string text(made.get());
	unsigned number;

	{
		std::lock_guard<std::mutex> held(lock);
		tenant &its = tenants.at(of.who);

		number = its.requests++;
		its.lost += of.who == leaky && number % LOST_EVERY == 0;
		its.kept[number % PAGES_KEPT] = std::move(made);
	}
	write_log(of, number);
	send_line(of.connection, text);
}

std::unique_ptr<request> take()
{
	std::unique_lock<std::mutex> held(lock);

	not_empty.wait(held, [] { return !queue.empty(); });
	std::unique_ptr<request> first = std::move(queue.front());
	queue.pop_front();
	return first;
}

void work()
{
	for (;;) {
		std::unique_ptr<request> present = take();
		const seep_scope scope = present->scope;

		seep_scope_resume(scope);
		answer(*present);
		present.reset();
		seep_scope_end(scope);
	}
}

void receive(int connection, const std::string &who, const std::string &path)
{
	const seep_scope scope = seep_scope_begin(("tenant=" + who).c_str());
	auto made = std::make_unique<request>(request{ connection, who, path, scope });

	seep_scope_suspend(scope);
	{
		std::lock_guard<std::mutex> held(lock);
		tenants[who];
		queue.push_back(std::move(made));
	}
	not_empty.notify_one();
}

std::string truth()
{
	std::lock_guard<std::mutex> held(lock);
	std::ostringstream text;

	for (const auto &[name, its] : tenants) {
		unsigned pages = 0;

		for (const page &kept : its.kept)
			pages += kept != nullptr;
		text << name << ' ' << its.requests << ' ' << pages + its.lost << ' '
		     << pages * PAGE_BYTES + its.lost * LOST_BYTES << ';';
	}
	return text.str();
}

/* One request of a connection at a time, as clients wait for the answer. */
void serve(int connection)
{
	FILE *in = fdopen(connection, "r");
	char who[64], path[128], line[256];

	while (in && fgets(line, sizeof(line), in)) {
		const int words = std::sscanf(line, "%63s %127s", who, path);

		if (words == 2)
			receive(connection, who, path);
		else if (words == 1 && std::string(who) == "truth")
			send_line(connection, truth());
		else
			_exit(std::string(who) == "quit" ? 0 : 1);
	}
	if (in)
		fclose(in);
}
} // namespace

int main(int argc, char **argv)
{
	sockaddr_in address = {};
	socklen_t size = sizeof(address);
	const int listening = socket(AF_INET, SOCK_STREAM, 0);

	leaky = argc > 1 ? argv[1] : "";
	address.sin_family = AF_INET;
	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (bind(listening, (sockaddr *)&address, size) || listen(listening, 16) ||
	    getsockname(listening, (sockaddr *)&address, &size))
		return 1;
	for (unsigned i = 0; i < WORKERS; i++)
		std::thread(work).detach();
	std::printf("%d %d\n", (int)getpid(), ntohs(address.sin_port));
	std::fflush(stdout);
	for (;;)
		std::thread(serve, accept(listening, nullptr, nullptr)).detach();
}
