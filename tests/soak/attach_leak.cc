/* SPDX-License-Identifier: MIT */
/*
 * A service as others write them, for attach_service_found.py: attach_leak serve, and what asks of it,
 * attach_leak load PORT. A thread for each connection; answers are kept in a cache, of which the
 * oldest goes; each 16th request subscribes to something, and the subscription and its session hold
 * each other for ever. It knows nothing of seep.
 */
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <iostream>
#include <map>
#include <memory>
#include <mutex>
#include <sstream>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

namespace
{

constexpr unsigned kept_answers = 4000, connections = 4, keys = 50000;

struct session;

struct subscription {
	std::shared_ptr<session> owner;
	std::string topic;
};

struct session {
	std::string user;
	std::vector<std::shared_ptr<subscription>> subscriptions;
};

class cache
{
	std::mutex lock;
	std::unordered_map<std::string, std::shared_ptr<std::string>> answers;
	std::deque<std::string> order;

      public:
	std::shared_ptr<std::string> find(const std::string &key)
	{
		std::lock_guard<std::mutex> guard(lock);
		auto found = answers.find(key);

		return found == answers.end() ? nullptr : found->second;
	}
	void keep(const std::string &key, std::shared_ptr<std::string> answer)
	{
		std::lock_guard<std::mutex> guard(lock);

		if (!answers.emplace(key, std::move(answer)).second)
			return;
		order.push_back(key);
		if (order.size() > kept_answers) {
			answers.erase(order.front());
			order.pop_front();
		}
	}
};

cache known;

std::string compute(const std::string &key)
{
	std::map<std::string, unsigned> parts;
	std::ostringstream out;

	for (unsigned i = 0; i < 20; i++)
		parts["part " + key + std::to_string(i)] += i;
	for (const auto &part : parts)
		out << part.first << '=' << part.second << ' ';
	return out.str();
}

void subscribe(const std::shared_ptr<session> &user, const std::string &topic)
{
	auto made = std::make_shared<subscription>();

	made->owner = user;
	made->topic = "changes of what was asked for as " + topic;
	user->subscriptions.push_back(made);
}

std::string handle(const std::string &key, unsigned number)
{
	auto answer = known.find(key);

	if (!answer) {
		answer = std::make_shared<std::string>(compute(key));
		known.keep(key, answer);
	}
	if (number % 16 == 0) {
		auto user = std::make_shared<session>(); /* the leak */

		user->user = "user of the request for " + key;
		subscribe(user, key);
	}
	return *answer + '\n';
}

/* Requests are lines, and so are answers. */
bool read_line(int from, std::string &rest, std::string &line)
{
	char data[4096];
	size_t end;

	while ((end = rest.find('\n')) == std::string::npos) {
		ssize_t n = read(from, data, sizeof(data));

		if (n <= 0)
			return false;
		rest.append(data, static_cast<size_t>(n));
	}
	line = rest.substr(0, end);
	rest.erase(0, end + 1);
	return true;
}

bool write_all(int to, const std::string &text)
{
	return write(to, text.data(), text.size()) == static_cast<ssize_t>(text.size());
}

void answer_all(int connection)
{
	std::string rest, key;

	for (unsigned number = 0; read_line(connection, rest, key); number++)
		if (!write_all(connection, handle(key, number)))
			break;
	close(connection);
}

sockaddr_in address_of(unsigned port)
{
	sockaddr_in address{};

	address.sin_family = AF_INET;
	address.sin_port = htons(static_cast<uint16_t>(port));
	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	return address;
}

int serve()
{
	sockaddr_in address = address_of(0);
	socklen_t bytes = sizeof(address);
	int server = socket(AF_INET, SOCK_STREAM, 0);

	if (bind(server, reinterpret_cast<sockaddr *>(&address), bytes) != 0 ||
	    listen(server, 16) != 0 ||
	    getsockname(server, reinterpret_cast<sockaddr *>(&address), &bytes) != 0)
		return 1;
	std::cout << ntohs(address.sin_port) << std::endl;
	for (int connection; (connection = accept(server, nullptr, nullptr)) >= 0;)
		std::thread(answer_all, connection).detach();
	return 1;
}

std::atomic<unsigned long> answered, longest_us, failed;

void ask_all(unsigned port, unsigned seed)
{
	sockaddr_in address = address_of(port);
	int connection = socket(AF_INET, SOCK_STREAM, 0);
	std::string rest, line;

	if (connect(connection, reinterpret_cast<sockaddr *>(&address), sizeof(address)) != 0)
		std::exit(1);
	for (unsigned long state = seed;; answered++) {
		auto begun = std::chrono::steady_clock::now();

		state = state * 6364136223846793005u + 1442695040888963407u;
		if (!write_all(connection, "key " + std::to_string((state >> 33) % keys) + "\n") ||
		    !read_line(connection, rest, line)) {
			failed++;
			return;
		}
		auto us = static_cast<unsigned long>(
			std::chrono::duration_cast<std::chrono::microseconds>(
				std::chrono::steady_clock::now() - begun)
				.count());
		for (unsigned long most = longest_us;
		     us > most && !longest_us.compare_exchange_weak(most, us);)
			;
	}
}

/* For each line: how many were answered since the last one, the longest time in µs, and failed connections. */
int load(unsigned port)
{
	std::string line;

	for (unsigned i = 0; i < connections; i++)
		std::thread(ask_all, port, i + 1).detach();
	while (std::getline(std::cin, line))
		std::cout << answered.exchange(0) << ' ' << longest_us.exchange(0) << ' ' << failed
			  << std::endl;
	std::_Exit(0);
}

} // namespace

int main(int argc, char **argv)
{
	if (argc == 3 && std::strcmp(argv[1], "load") == 0)
		return load(static_cast<unsigned>(std::atoi(argv[2])));
	return argc == 2 && std::strcmp(argv[1], "serve") == 0 ? serve() : 2;
}
